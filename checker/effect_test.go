package checker

import (
	"testing"

	"github.com/lockbench/lockbench/history"
)

// TestEffectsOfUnseenReplies: a reply that its client did not see leaves open what the command did, unless it was an error.
func TestEffectsOfUnseenReplies(t *testing.T) {
	rows := []struct {
		reply   string
		replied int64
		want    effect
	}{
		{"OK", 5, effectCreate},                           // seen
		{"", 0, effectMaybe},                              // none was recorded
		{"OK", 0, effectMaybe},                            // it was there: when the command took effect is not known
		{"-NOSCRIPT No matching script", 0, effectRefuse}, // an error that was there: nothing was done, whenever
		{"-NOSCRIPT No matching script", 5, effectRefuse}, // an error that was seen
	}
	for _, row := range rows {
		st := step{Command: history.Command{Name: "SET", Args: []string{"job", "t1", "NX", "PX", "300"}, Reply: row.reply, Replied: row.replied}}
		if st.interpret(); st.effect != row.want {
			t.Errorf("reply %q at %d: effect %d, want %d", row.reply, row.replied, st.effect, row.want)
		}
	}
}

// TestRoles: a script is for what its name says; a watchdog's call may overlap the one that it was sent in.
func TestRoles(t *testing.T) {
	rows := []struct {
		script       string
		during, want history.Op
	}{
		{"redisson_acquire.lua", history.Extend, history.Acquire},  // of an acquire that a watchdog's extend overlaps
		{"redisson_release.lua", history.Acquire, history.Release}, // a try that takes back what it got
		{"local_renew.lua", history.OpInvalid, history.Extend},
		{"lua_nil.lua", history.Acquire, history.Acquire}, // the name says nothing
		{"rueidislock.lua", history.Extend, history.Extend},
		{"rueidislock.lua", history.OpInvalid, history.Acquire},
		{"nameless", history.OpInvalid, history.Extend}, // in the background a lock does nothing but renew
	}
	for _, row := range rows {
		st := step{Command: history.Command{Name: "EVAL", Args: []string{row.script, "1", "job", "t1"}}, during: row.during}
		if got := st.role(); got != row.want {
			t.Errorf("%s in %v: %v, want %v", row.script, row.during, got, row.want)
		}
	}
}
