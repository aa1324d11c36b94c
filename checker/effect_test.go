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
