package mutex

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

// pair starts a primary and a replica that follows it.
func pair(t *testing.T) (primary, replica *redistest.Server) {
	t.Helper()
	primary, replica = redistest.NewReal(t), redistest.NewReal(t)
	host, port, _ := net.SplitHostPort(primary.Addr)
	c := replica.Client(t).Redis
	if err := c.Do(t.Context(), "replicaof", host, port).Err(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for !strings.Contains(c.Info(t.Context(), "replication").Val(), "master_link_status:up") {
		if time.Now().After(deadline) {
			t.Fatal("the replica does not follow")
		}
		time.Sleep(10 * time.Millisecond)
	}
	return primary, replica
}

func TestTokenWaitIsGrantedWhenTheReplicaHasTheKey(t *testing.T) {
	primary, replica := pair(t)
	c := primary.Client(t)
	env := c.Env(t, "a", time.Minute)
	env.NodeTimeout = 20 * time.Second // the replica acknowledges once a second, later on a busy machine
	a := open(t, c, "token-wait", env)
	a.Hold(t)
	// No wait here: the grant means that the replica has the key.
	if n := replica.Client(t).Redis.Exists(t.Context(), env.Key).Val(); n != 1 {
		t.Error("granted although the replica does not have the key")
	}
	_, err := a.Extend(t.Context())
	redistest.WantErr(t, "extend", err, nil)
	b := join(t, primary, "token-wait", "b")
	_, err = b.Ask(t)
	redistest.WantErr(t, "another's try", err, impls.ErrBusy)
	redistest.WantErr(t, "release", a.Release(t.Context()), nil)
	if err := replica.Client(t).Redis.Do(t.Context(), "replicaof", "no", "one").Err(); err != nil {
		t.Fatal(err)
	}
	_, err = b.Ask(t)
	redistest.WantErr(t, "try without a replica", err, impls.ErrUnavailable)
	if n := b.Redis.Exists(t.Context(), b.In.Key).Val(); n != 0 {
		t.Error("what was not confirmed was not undone")
	}
}

func TestTokenWaitThatCannotUndoIsUnknown(t *testing.T) {
	redistest.Both(t, func(t *testing.T, s *redistest.Server) { // neither server has a replica
		a := join(t, s, "token-wait", "a")
		_, err := a.Ask(t)
		redistest.WantErr(t, "try without a replica", err, impls.ErrUnavailable)
		a.LoseRequest("eval")
		_, err = a.Ask(t)
		redistest.WantErr(t, "try whose undo is lost", err, impls.ErrUnknownOutcome)
		a.Redis.Del(t.Context(), a.In.Key)
		a.LoseReply("\nwait\r")
		_, err = a.Ask(t)
		redistest.WantErr(t, "try whose WAIT is not answered, undone", err, impls.ErrUnavailable)
		if n := a.Redis.Exists(t.Context(), a.In.Key).Val(); n != 0 {
			t.Error("what was not confirmed was not undone")
		}
	})
}

func TestTokenNativeWithoutScripts(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a, b, c := join(t, s, "token-native", "a"), join(t, s, "token-native", "b"), join(t, s, "token-native", "c")
		sent := a.Record()
		a.Hold(t)
		_, err := b.Ask(t)
		redistest.WantErr(t, "another's try", err, impls.ErrBusy)
		redistest.WantErr(t, "release", a.Release(t.Context()), nil)
		a.Hold(t)
		time.Sleep(lease)
		b.Hold(t)
		redistest.WantErr(t, "late release", a.Release(t.Context()), impls.ErrLost)
		_, err = c.Ask(t)
		redistest.WantErr(t, "a third client", err, impls.ErrBusy)
		probes := 0
		for _, line := range sent.Take() {
			if strings.Contains(line, "eval") {
				t.Errorf("sent a script: %s", line)
			}
			if strings.Contains(line, ":probe") {
				probes++
			}
		}
		if probes != 1 {
			t.Errorf("probed the server's commands %d times, want once", probes)
		}
		_, err = b.Extend(t.Context())
		redistest.WantErr(t, "extend", err, nil)
		time.Sleep(lease)
		_, err = b.Extend(t.Context())
		redistest.WantErr(t, "extend after the lease", err, impls.ErrLost)
	})
}

// TestTokenNativeOnAnOldServer: 7.0 has neither command, and says so before anything is written.
func TestTokenNativeOnAnOldServer(t *testing.T) {
	redistest.Real(t, func(t *testing.T, s *redistest.Server) {
		a := join(t, s, "token-native", "a")
		if a.Redis.Do(t.Context(), "delex", "nothing").Err() == nil {
			t.Skip("this server has DELEX")
		}
		_, err := a.Acquire(t.Context(), history.Exclusive)
		redistest.WantErr(t, "acquire", err, impls.ErrUnsupported)
		if n := a.Redis.Exists(t.Context(), a.In.Key).Val(); n != 0 {
			t.Error("the key was written")
		}
	})
}

func TestTokenNativeSpeaksValkey(t *testing.T) {
	want := [2]string{"delifeq K T", "delex K ifeq T"}
	for i, d := range []dialect{delifeq, delex} {
		words := make([]string, 0, 4)
		for _, w := range d.command("K", "T") {
			words = append(words, w.(string))
		}
		if got := strings.Join(words, " "); got != want[i] {
			t.Errorf("%s: %q, want %q", d, got, want[i])
		}
	}
}
