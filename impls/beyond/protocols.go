package beyond

import (
	"strings"

	"github.com/lockbench/lockbench/impls"
)

func fenced() protocol {
	release := impls.EmbeddedScript(lua, "fenced_release.lua")
	return protocol{
		take:     byMode{impls.EmbeddedScript(lua, "fenced_take.lua")},
		renew:    byMode{impls.EmbeddedScript(lua, "fenced_extend.lua")},
		end:      byMode{release},
		withdraw: release,
		args:     3,
	}
}

func semaphore() protocol {
	release := impls.EmbeddedScript(lua, "semaphore_release.lua")
	return protocol{
		take:     byMode{impls.EmbeddedScript(lua, "semaphore_take.lua")},
		renew:    byMode{impls.EmbeddedScript(lua, "semaphore_extend.lua")},
		end:      byMode{release},
		withdraw: release,
		args:     5,
		many:     true,
	}
}

// rwLease uses the scripts of fenced for the writer.
func rwLease() protocol {
	writer := fenced()
	return protocol{
		take:     byMode{impls.EmbeddedScript(lua, "rw_take_write.lua"), impls.EmbeddedScript(lua, "rw_take_read.lua")},
		renew:    byMode{writer.renew[0], impls.EmbeddedScript(lua, "rw_extend_read.lua")},
		end:      byMode{writer.end[0], impls.EmbeddedScript(lua, "rw_release_read.lua")},
		withdraw: impls.EmbeddedScript(lua, "rw_withdraw.lua"),
		args:     4,
		suffixes: []string{readersKey, writersKey},
	}
}

// fair uses the extend script of fenced.
func fair() protocol {
	return protocol{
		take:     byMode{including("fair_first.lua", "fair_take.lua")},
		renew:    fenced().renew,
		end:      byMode{including("fair_first.lua", "fair_release.lua")},
		withdraw: including("fair_first.lua", "fair_withdraw.lua"),
		args:     4,
		suffixes: []string{queueKey, placesKey},
		turns:    true,
	}
}

// handoff uses the extend script of fenced. Its waiters block on lists.
func handoff() protocol {
	return protocol{
		take:     byMode{including("handoff_first.lua", "handoff_take.lua")},
		renew:    fenced().renew,
		end:      byMode{including("handoff_first.lua", "handoff_release.lua")},
		withdraw: including("handoff_first.lua", "handoff_withdraw.lua"),
		args:     4,
		suffixes: []string{queueKey, placesKey},
		turns:    true,
		blocks:   true,
	}
}

// including returns a script in which the line that includes part is replaced by it, because Lua on
// a server has no include.
func including(part, name string) *impls.Script {
	script, included := impls.EmbeddedScript(lua, name), impls.EmbeddedScript(lua, part)
	return impls.NewScript(name, strings.Replace(script.Source, "-- include "+part+"\n", included.Source, 1))
}
