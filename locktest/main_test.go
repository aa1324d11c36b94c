package locktest

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Some locks of these tests leave goroutines behind: a rule must find that bug. Nothing else may
// leave any.
func TestMain(m *testing.M) {
	if os.Getenv(jobEnv) != "" {
		os.Exit(m.Run())
	}
	const here = "github.com/lockbench/lockbench/locktest."
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(here+"(*lock).watch"), goleak.IgnoreAnyFunction(here+"(*lock).Unlock"),
		goleak.IgnoreAnyFunction(here+"(*lock).bent.func1"), goleak.IgnoreAnyFunction(here+"waitingLock.Lock"))
}
