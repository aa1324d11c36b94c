package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockbench/lockbench/history"
)

// trace is everything that happened, in order: always as a hash, and as lines on request. Two runs
// are the same if their hashes are equal.
type trace struct {
	hash  uint64
	keep  bool
	lines []string
}

// FNV-1a.
const (
	hashStart = 14695981039346656037
	hashPrime = 1099511628211
)

// mix adds numbers to a hash.
func mix(h uint64, numbers ...uint64) uint64 {
	for _, n := range numbers {
		for range 8 {
			h = (h ^ (n & 0xff)) * hashPrime
			n >>= 8
		}
	}
	return h
}

// mixText adds a text and its end to a hash.
func mixText[T string | []byte](h uint64, s T) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * hashPrime
	}
	return (h ^ 0xff) * hashPrime
}

// event adds an event that the scheduler released. It calls what only if lines are kept.
func (t *trace) event(now time.Duration, kind optionKind, number uint64, content []byte, what func() string) {
	t.hash = mix(t.hash, uint64(now), uint64(kind), number)
	t.hash = mixText(t.hash, content)
	if t.keep {
		t.lines = append(t.lines, fmt.Sprintf("%12.6f  %s", now.Seconds(), what()))
	}
}

func (t *trace) op(op history.Operation) {
	t.hash = mix(t.hash, uint64(op.Call), uint64(op.Return), uint64(op.Op)<<8|uint64(op.Outcome))
	t.hash = mixText(mixText(t.hash, op.Token), op.Err)
	if t.keep {
		t.lines = append(t.lines, fmt.Sprintf("%12.6f  %s %s %s %s", time.Duration(op.Return).Seconds(), op.Client, op.Op, op.Key,
			strings.TrimSpace(op.Outcome.String()+" "+op.Err)))
	}
}

func hashArgs(args []string) uint64 {
	h := uint64(hashStart)
	for _, a := range args {
		h = mixText(h, a)
	}
	return h
}

const (
	deliverRequest optionKind = iota // a request reaches its node and is executed
	deliverReply                     // a reply reaches its client
	replicate                        // the replica applies what the primary has written
	waitForTime                      // time passes without an arrival
	placeFault                       // a fault
	arranged                         // a timer of the driver is due
	giveUp                           // none: the rest of this schedule is known
)

// optionKind is the kind of an option.
type optionKind uint8
