package beyond

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

// permitModel is what a semaphore is: per client, until when its permit is good.
type permitModel struct {
	permits int
	until   map[int]time.Time // of clients that have not been told of an end
}

func (m permitModel) live() int {
	n := 0
	for _, u := range m.until {
		if time.Now().Before(u) {
			n++
		}
	}
	return n
}

func (m permitModel) holds(client int) (told, live bool) {
	u, told := m.until[client]
	return told, told && time.Now().Before(u)
}

// Any sequence of tries, releases, extends and waits gives what the model gives; never more holders than permits.
func TestTheSemaphoreIsItsModel(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		clients := make([]party, 5)
		for i := range clients {
			clients[i] = join(t, s, "semaphore", fmt.Sprint("c", i))
		}
		rapid.Check(inBubble{t}, func(r *rapid.T) {
			s.Mini.FlushAll()
			m := permitModel{rapid.IntRange(1, 3).Draw(r, "permits"), map[int]time.Time{}}
			for i := range clients {
				l := clients[i].Lock.(*lock)
				l.env.Permits, l.holds = m.permits, nil
			}
			any := rapid.IntRange(0, len(clients)-1)
			r.Repeat(map[string]func(*rapid.T){
				"try":     func(r *rapid.T) { m.try(t, r, clients, any.Draw(r, "client")) },
				"release": func(r *rapid.T) { m.release(t, r, clients, any.Draw(r, "client")) },
				"extend":  func(r *rapid.T) { m.extend(t, r, clients, any.Draw(r, "client")) },
				"wait": func(r *rapid.T) {
					time.Sleep(time.Duration(rapid.IntRange(1, int(lease/time.Millisecond)).Draw(r, "ms")) * time.Millisecond)
				},
				"": func(r *rapid.T) {
					if n := m.live(); n > m.permits {
						r.Fatalf("%d holders of %d permits", n, m.permits)
					}
				},
			})
		})
	})
}

func (m permitModel) try(t *testing.T, r *rapid.T, clients []party, c int) {
	if told, _ := m.holds(c); told {
		return // one permit for each client is enough here
	}
	var want error
	if m.live() >= m.permits {
		want = impls.ErrBusy
	}
	begin := time.Now()
	_, err := clients[c].Try(t.Context(), write)
	expectErr(r, "try", err, want)
	if want == nil {
		m.until[c] = begin.Add(lease)
	}
}

func (m permitModel) release(t *testing.T, r *rapid.T, clients []party, c int) {
	want := m.ended(c)
	expectErr(r, "release", clients[c].Release(t.Context()), want)
	delete(m.until, c)
}

func (m permitModel) extend(t *testing.T, r *rapid.T, clients []party, c int) {
	want := m.ended(c)
	_, err := clients[c].Extend(t.Context())
	expectErr(r, "extend", err, want)
	delete(m.until, c)
	if want == nil {
		m.until[c] = time.Now().Add(lease)
	}
}

// ended is what a release or extend of a client must say.
func (m permitModel) ended(c int) error {
	told, live := m.holds(c)
	switch {
	case !told:
		return impls.ErrNotHeld
	case !live:
		return impls.ErrLost
	}
	return nil
}

// Releasing more often than acquiring makes no permits.
func TestNoPermitsAreMade(t *testing.T) {
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		two := func(e *impls.Env) { e.Permits = 2 }
		a, b, c := joinWith(t, s, "semaphore", "a", two), joinWith(t, s, "semaphore", "b", two), joinWith(t, s, "semaphore", "c", two)
		a.asks(t, "first permit", write, nil)
		a.leaves(t, "first permit", nil)
		a.leaves(t, "once too often", impls.ErrNotHeld)
		for i, p := range []party{a, b} {
			p.asks(t, fmt.Sprint("permit ", i+1), write, nil)
		}
		c.asks(t, "third permit of two", write, impls.ErrBusy)
	})
}
