package rw

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

const (
	read  = history.Shared
	write = history.Exclusive
)

// The variants that grant a writer.
var granting = []string{"rw-owner-fixed", "rw-pair", "rw-hash"}

// rw-owner as printed: in Lua HLEN's 0 is true, so no writer is ever granted; and HSET replies 0 to
// a reader that reads again, which means a refusal.
func TestTheOwnerScriptsAsPrinted(t *testing.T) {
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		a := join(t, s, "rw-owner", "a")
		a.Asks(t, "writer on an empty server", write, impls.ErrBusy)
		a.Asks(t, "reader", read, nil)
		a.Asks(t, "the same reader again", read, impls.ErrBusy)
		a.Leaves(t, "reader", nil)
		a.Asks(t, "writer after the reader", write, impls.ErrBusy)
	})
}

func TestAnOwnerThatReadsMayReadAgain(t *testing.T) {
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		a := join(t, s, "rw-owner-fixed", "a")
		a.Asks(t, "reader", read, nil)
		a.Asks(t, "the same reader again", read, nil)
		a.Leaves(t, "inner", nil)
		a.Leaves(t, "outer, which went with the inner", impls.ErrLost)
	})
}

// Without a lease, the hold of a dead owner never ends.
func TestNoLeaseMeansForEver(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		join(t, s, "rw-owner-fixed", "a").Asks(t, "writer that dies", write, nil)
		time.Sleep(24 * time.Hour)
		join(t, s, "rw-owner-fixed", "b").Asks(t, "reader a day later", read, impls.ErrBusy)
	})
}

func TestTheArticlesTimeoutsAreScaled(t *testing.T) {
	for _, row := range []struct {
		lease time.Duration
		want  timeouts
	}{
		{0, timeouts{10 * time.Second, time.Second, 3 * time.Second}}, // the article's own
		{3 * time.Second, timeouts{10 * time.Second, time.Second, 3 * time.Second}},
		{300 * time.Millisecond, timeouts{time.Second, 100 * time.Millisecond, 300 * time.Millisecond}},
		// cut to whole milliseconds
		{100 * time.Millisecond, timeouts{333 * time.Millisecond, 33 * time.Millisecond, 100 * time.Millisecond}},
		// no overflow
		{24 * time.Hour, timeouts{80 * time.Hour, 8 * time.Hour, 24 * time.Hour}},
	} {
		if got := timeoutsFor(row.lease); got != row.want {
			t.Errorf("lease %v: %+v, want %+v", row.lease, got, row.want)
		}
	}
}
