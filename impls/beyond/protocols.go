package beyond

import (
	_ "embed"
	"strings"

	"github.com/lockbench/lockbench/impls"
)

var (
	//go:embed lua/fenced_take.lua
	fencedTakeSource string
	//go:embed lua/fenced_extend.lua
	fencedExtendSource string
	//go:embed lua/fenced_release.lua
	fencedReleaseSource string

	//go:embed lua/semaphore_take.lua
	semaphoreTakeSource string
	//go:embed lua/semaphore_extend.lua
	semaphoreExtendSource string
	//go:embed lua/semaphore_release.lua
	semaphoreReleaseSource string

	//go:embed lua/rw_take_read.lua
	rwTakeReadSource string
	//go:embed lua/rw_take_write.lua
	rwTakeWriteSource string
	//go:embed lua/rw_extend_read.lua
	rwExtendReadSource string
	//go:embed lua/rw_release_read.lua
	rwReleaseReadSource string
	//go:embed lua/rw_withdraw.lua
	rwWithdrawSource string

	//go:embed lua/fair_first.lua
	fairFirstSource string
	//go:embed lua/fair_take.lua
	fairTakeSource string
	//go:embed lua/fair_release.lua
	fairReleaseSource string
	//go:embed lua/fair_withdraw.lua
	fairWithdrawSource string

	//go:embed lua/handoff_first.lua
	handoffFirstSource string
	//go:embed lua/handoff_take.lua
	handoffTakeSource string
	//go:embed lua/handoff_release.lua
	handoffReleaseSource string
	//go:embed lua/handoff_withdraw.lua
	handoffWithdrawSource string
)

func fenced() protocol {
	release := impls.NewScript("fenced_release.lua", fencedReleaseSource)
	return protocol{
		take:     byMode{impls.NewScript("fenced_take.lua", fencedTakeSource)},
		renew:    byMode{impls.NewScript("fenced_extend.lua", fencedExtendSource)},
		end:      byMode{release},
		withdraw: release,
		args:     3,
	}
}

func semaphore() protocol {
	release := impls.NewScript("semaphore_release.lua", semaphoreReleaseSource)
	return protocol{
		take:     byMode{impls.NewScript("semaphore_take.lua", semaphoreTakeSource)},
		renew:    byMode{impls.NewScript("semaphore_extend.lua", semaphoreExtendSource)},
		end:      byMode{release},
		withdraw: release,
		args:     5,
		many:     true,
	}
}

// rwLease has the writer's key in common with fenced, and its scripts for it.
func rwLease() protocol {
	writer := fenced()
	return protocol{
		take:     byMode{impls.NewScript("rw_take_write.lua", rwTakeWriteSource), impls.NewScript("rw_take_read.lua", rwTakeReadSource)},
		renew:    byMode{writer.renew[0], impls.NewScript("rw_extend_read.lua", rwExtendReadSource)},
		end:      byMode{writer.end[0], impls.NewScript("rw_release_read.lua", rwReleaseReadSource)},
		withdraw: impls.NewScript("rw_withdraw.lua", rwWithdrawSource),
		args:     4,
		suffixes: []string{ReadersKey, WritersKey},
	}
}

// fair has the holder's key in common with fenced, and its script that extends.
func fair() protocol {
	return protocol{
		take:     byMode{including("fair_first.lua", fairFirstSource, "fair_take.lua", fairTakeSource)},
		renew:    fenced().renew,
		end:      byMode{including("fair_first.lua", fairFirstSource, "fair_release.lua", fairReleaseSource)},
		withdraw: including("fair_first.lua", fairFirstSource, "fair_withdraw.lua", fairWithdrawSource),
		args:     4,
		suffixes: []string{QueueKey, PlacesKey},
		turns:    true,
	}
}

// handoff has the holder's key in common with fenced, and its script that extends; its waiters block on lists instead of listening.
func handoff() protocol {
	return protocol{
		take:     byMode{including("handoff_first.lua", handoffFirstSource, "handoff_take.lua", handoffTakeSource)},
		renew:    fenced().renew,
		end:      byMode{including("handoff_first.lua", handoffFirstSource, "handoff_release.lua", handoffReleaseSource)},
		withdraw: including("handoff_first.lua", handoffFirstSource, "handoff_withdraw.lua", handoffWithdrawSource),
		args:     4,
		suffixes: []string{QueueKey, PlacesKey},
		turns:    true,
		blocks:   true,
	}
}

// including makes a script in which the line that includes a part is replaced by the part: Lua on a server has no include.
func including(part, partSource, name, source string) *impls.Script {
	return impls.NewScript(name, strings.Replace(source, "-- include "+part+"\n", partSource, 1))
}
