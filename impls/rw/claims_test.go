package rw

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

// rows has the rows of the comparison table in "Redis read-write locks" (article 004), each with a
// function that observes whether it holds for an edition.
var rows = map[string]func(t *testing.T, s *redistest.Server, name string) bool{
	"A client that reads may acquire for reading again.": func(t *testing.T, s *redistest.Server, name string) bool {
		a := join(t, s, name, "a")
		a.Asks(t, "reader", read, nil)
		return errOf(a.Try(t.Context(), read)) == nil
	},
	"A hold that is read again lasts until its last release.": func(t *testing.T, s *redistest.Server, name string) bool {
		a, w := join(t, s, name, "a"), join(t, s, name, "w")
		a.Asks(t, "outer reader", read, nil)
		time.Sleep(2 * time.Millisecond)
		a.Asks(t, "inner reader", read, nil)
		a.Leaves(t, "inner reader", nil)
		return errOf(w.Try(t.Context(), write)) != nil
	},
	"A lock can be deleted by others than its owner.": func(t *testing.T, s *redistest.Server, name string) bool {
		return strangerEnds(t, s, name)
	},
	"A lock can be deleted only by its owner.": func(t *testing.T, s *redistest.Server, name string) bool {
		return !strangerEnds(t, s, name)
	},
	"A hold ends by itself after a time-out.": func(t *testing.T, s *redistest.Server, name string) bool {
		ended := true
		for _, mode := range []history.Mode{read, write} {
			a, w := join(t, s, name, "a"), join(t, s, name, "w")
			a.Asks(t, "holder that crashes", mode, nil)
			time.Sleep(lease + 5*time.Millisecond)
			ended = ended && errOf(w.Try(t.Context(), write)) == nil
			w.Leaves(t, "writer", nil)
		}
		return ended
	},
	"A client that writes may not acquire for writing again.": func(t *testing.T, s *redistest.Server, name string) bool {
		a := join(t, s, name, "a")
		a.Asks(t, "writer", write, nil)
		return errOf(a.Try(t.Context(), write)) != nil
	},
}

// strangerEnds reports whether the release of a later reader ends an earlier reader's hold.
func strangerEnds(t *testing.T, s *redistest.Server, name string) bool {
	a, b, w := join(t, s, name, "a"), join(t, s, name, "b"), join(t, s, name, "w")
	a.Asks(t, "first reader", read, nil)
	time.Sleep(2 * time.Millisecond)
	b.Asks(t, "second reader", read, nil)
	b.Leaves(t, "second reader", nil)
	return errOf(w.Try(t.Context(), write)) == nil
}

func TestTheRowsOf004(t *testing.T) {
	for _, v := range Variants() {
		for _, claim := range v.Claims {
			check, ok := rows[claim.Text]
			if !ok {
				continue
			}
			t.Run(v.Name+"/"+claim.Text, func(t *testing.T) {
				redistest.Both(t, func(t *testing.T, s *redistest.Server) {
					if got := check(t, s, v.Name); got != claim.Holds {
						t.Errorf("observed %v, but the claim says %v", got, claim.Holds)
					}
				})
			})
		}
	}
}

// TestALateWriter: a late writer of rw-pair deletes the next writer's mark; rw-hash compares first.
func TestALateWriter(t *testing.T) {
	for name, blind := range map[string]bool{"rw-pair": true, "rw-hash": false} {
		t.Run(name, func(t *testing.T) {
			redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
				a, b, c := join(t, s, name, "a"), join(t, s, name, "b"), join(t, s, name, "c")
				a.Asks(t, "writer", write, nil)
				time.Sleep(lease + 2*time.Millisecond)
				b.Asks(t, "writer after the lease", write, nil)
				_ = a.Release(t.Context())
				want := error(impls.ErrBusy)
				if blind {
					want = nil
				}
				c.Asks(t, "third writer", write, want)
			})
		})
	}
}

// TestALostReplyIsUnknown: after a lost reply the outcome is unknown, and the mark stays.
func TestALostReplyIsUnknown(t *testing.T) {
	for _, name := range granting {
		t.Run(name, func(t *testing.T) {
			redistest.Both(t, func(t *testing.T, s *redistest.Server) {
				a, b := join(t, s, name, "a"), join(t, s, name, "b")
				a.Asks(t, "writer", write, nil)
				a.Leaves(t, "writer", nil)
				time.Sleep(2 * time.Millisecond)
				a.LoseReply("eval")
				a.Asks(t, "writer whose reply is lost", write, impls.ErrUnknownOutcome)
				b.Asks(t, "reader", read, impls.ErrBusy)
			})
		})
	}
}
