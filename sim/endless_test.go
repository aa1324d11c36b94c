package sim

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/upstream"
)

// redials dials again and again without waiting.
type redials struct {
	impls.Lock
	env impls.Env
}

func (l redials) Acquire(ctx context.Context, _ history.Mode) (impls.Grant, error) {
	for {
		if c, err := l.env.Dial(ctx, "tcp", l.env.Addrs[0]); err == nil {
			_ = c.Close() // a simulated connection
		}
	}
}

// leavesEnv marks a process of tests that leaves goroutines behind.
const leavesEnv = "LOCKBENCH_TEST_LEAVES"

// TestEndlessLoop: a simulation that has no process of its own ends, though a client dials without
// end and virtual time stands still.
func TestEndlessLoop(t *testing.T) {
	if os.Getenv(leavesEnv) == "" {
		child := exec.Command(os.Args[0], "-test.run=^TestEndlessLoop$")
		child.Env = append(os.Environ(), leavesEnv+"=1")
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	h := New(nil)
	t.Cleanup(h.Close)
	h.endlessAfter = 300 * time.Millisecond
	v := impls.Variant{Name: "redials", Kind: history.Mutex, Topology: impls.Standalone, New: func(env impls.Env) (impls.Lock, error) {
		return redials{env: env}, nil
	}}
	out, err := h.Schedule(DefaultProgram(v), ByDefault{}, Bounds{}, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"an endless loop in which no virtual time passes", "sim.redials.Acquire (endless_test.go"} {
		if !strings.Contains(out.Crash, want) {
			t.Errorf("%q is not in %s", want, out.Crash)
		}
	}
	if out.Unexplorable {
		t.Error("counts as not explorable")
	}
}

func TestMain(m *testing.M) {
	upstream.SilenceRedisLog()
	if os.Getenv(leavesEnv) != "" {
		os.Exit(m.Run())
	}
	goleak.VerifyTestMain(m)
}
