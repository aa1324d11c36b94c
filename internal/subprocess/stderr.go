package subprocess

import (
	"bytes"
	"regexp"
	"strings"
	"sync"

	"github.com/lockbench/lockbench/internal/foreign"
)

const maxWords = 4 << 10 // bytes of standard error that are kept

// crash matches the first line of a Go program's crash report, which the goroutines follow.
var crash = regexp.MustCompile(`(?m)^(panic|fatal error|runtime): `)

// stderrTail keeps the end of what is written to it or, if a Go program crashes, the beginning of
// the crash report.
type stderrTail struct {
	mu      sync.Mutex // protects what follows
	kept    []byte
	crashed bool // kept begins with the reason
}

// Write never fails.
func (w *stderrTail) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.crashed {
		w.kept = append(w.kept, p[:min(len(p), max(0, maxWords-len(w.kept)))]...)
		return len(p), nil
	}
	w.kept = append(w.kept, p...)
	if at := crash.FindIndex(w.kept); at != nil {
		w.crashed, w.kept = true, bytes.Clone(w.kept[at[0]:min(len(w.kept), at[0]+maxWords)])
	} else if over := len(w.kept) - maxWords; over > 0 {
		w.kept = append(w.kept[:0], w.kept[over:]...)
	}
	return len(p), nil
}

// String returns what was kept, in the form of [foreign.Lines].
func (w *stderrTail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return foreign.Lines(strings.TrimSpace(string(w.kept)))
}
