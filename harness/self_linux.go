package harness

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/lockbench/lockbench/faults"
)

// selfBody is a client process as it sees itself: it says what it is about to do and then does it to itself, so that the fault is
// placed exactly. The run measures how long it lasts, and ends a stop with SIGCONT.
type selfBody struct{ tell func(news) }

var _ faults.Body = selfBody{}

// Stop stops the whole process. The signal goes to this very thread: one to the process could be taken by another thread, and
// this one would run on for a moment. The length of the stop is the run's business: wait is not called.
func (b selfBody) Stop(f faults.Spec, moment string, _ func()) bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b.tell(news{Stopping: &stopping{f, moment}})
	return unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP) == nil
}

// Kill does not return.
func (b selfBody) Kill(f faults.Spec, moment string) bool {
	b.tell(news{Stopping: &stopping{f, moment}})
	_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	select {} // the signal is on its way
}
