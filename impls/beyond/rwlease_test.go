package beyond

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

func TestReadersShareAndLeaveAlone(t *testing.T) {
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		a, b, w := join(t, s, "rw-lease", "a"), join(t, s, "rw-lease", "b"), join(t, s, "rw-lease", "w")
		first, second := a.asks(t, "first reader", read, nil), b.asks(t, "second reader", read, nil)
		if second.Fence <= first.Fence {
			t.Errorf("fences %d and %d, want them to grow", first.Fence, second.Fence)
		}
		w.asks(t, "writer beside two readers", write, impls.ErrBusy)
		b.leaves(t, "second reader", nil)
		w.asks(t, "writer beside one reader", write, impls.ErrBusy)
		if _, err := a.Extend(t.Context()); err != nil {
			t.Errorf("extend of a reader: %v", err)
		}
		a.leaves(t, "first reader", nil)
		w.asks(t, "writer alone", write, nil)
		a.asks(t, "reader beside a writer", read, impls.ErrBusy)
	})
}

// The lease of a dead reader ends though others read on and renew.
func TestADeadReaderDoesNotOutliveItsLease(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		dead, a, w := join(t, s, "rw-lease", "dead"), join(t, s, "rw-lease", "a"), join(t, s, "rw-lease", "w")
		dead.asks(t, "reader that dies", read, nil)
		a.asks(t, "reader that renews", read, nil)
		for range 3 {
			time.Sleep(lease / 2)
			if _, err := a.Extend(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		a.leaves(t, "reader that renews", nil)
		w.asks(t, "writer", write, nil)
		dead.leaves(t, "the dead reader comes back", impls.ErrLost)
	})
}

// A writer that waits keeps new readers out, and gets in when the present ones have left.
func TestAWriterIsNotStarved(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a, b, w := join(t, s, "rw-lease", "a"), join(t, s, "rw-lease", "b"), join(t, s, "rw-lease", "w")
		a.asks(t, "reader", read, nil)
		got := w.waits(t, t.Context(), write)
		time.Sleep(time.Millisecond)
		for i := range 10 { // longer than a claim lasts
			b.asks(t, fmt.Sprint("reader behind a waiting writer, ", i), read, impls.ErrBusy)
			time.Sleep(lease / 5)
			_, _ = a.Extend(t.Context())
		}
		left := time.Now()
		a.leaves(t, "reader", nil)
		o := <-got
		wantErr(t, "writer", o.err, nil)
		if o.at.Sub(left) != 0 {
			t.Errorf("the writer waited %v after the last reader had left", o.at.Sub(left))
		}
	})
}

// Readers that wait behind a writer are let in together when it leaves, and when it gives up.
func TestReadersGetInTogether(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
			h, w := join(t, s, "rw-lease", "h"), join(t, s, "rw-lease", "w")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			end := func() { w.leaves(t, "writer", nil) }
			if cancelled {
				h.asks(t, "reader", read, nil)
				gone := w.waits(t, ctx, write)
				end = func() { cancel(); <-gone }
				time.Sleep(time.Millisecond)
			} else {
				w.asks(t, "writer", write, nil)
			}
			var got []<-chan outcome
			for i := range 3 {
				got = append(got, join(t, s, "rw-lease", fmt.Sprint("r", i)).waits(t, t.Context(), read))
			}
			time.Sleep(lease / 7)
			synctest.Wait()
			begin := time.Now()
			end()
			for i, c := range got {
				o := <-c
				wantErr(t, fmt.Sprint("reader ", i), o.err, nil)
				if o.at.Sub(begin) != 0 {
					t.Errorf("cancelled %v: reader %d waited %v", cancelled, i, o.at.Sub(begin))
				}
			}
		})
	}
}

// The claim of a writer that died while it waited ends with its lease.
func TestADeadWaitingWriterIsForgotten(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		h, r := join(t, s, "rw-lease", "h"), join(t, s, "rw-lease", "r")
		l := join(t, s, "rw-lease", "dead").Lock.(*lock)
		h.asks(t, "reader", read, nil)
		q, err := l.request(write, true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.how.ask(t.Context(), l, q); err != nil {
			t.Fatal(err)
		}
		r.asks(t, "reader behind the claim", read, impls.ErrBusy)
		time.Sleep(lease)
		r.asks(t, "reader after the claim", read, nil)
	})
}
