package beyond

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/lockbench/lockbench/impls/internal/redistest"
)

func expectErr(r *rapid.T, what string, err, want error) {
	if !errors.Is(err, want) {
		r.Fatalf("%s: %v, want %v", what, err, want)
	}
}

// queueModel is what a fair lock is: a holder, and places in order of arrival, each good until some time.
type queueModel struct {
	holder *place
	queue  []*place
}

type place struct {
	request *request
	until   time.Time
}

func (p *place) live() bool { return p != nil && time.Now().Before(p.until) }

// first strikes dead heads off and gives the first living one. When all are dead the server forgets the queue.
func (m *queueModel) first() *place {
	for len(m.queue) > 0 && !m.queue[0].live() {
		m.queue = m.queue[1:]
	}
	if len(m.queue) == 0 {
		return nil
	}
	return m.queue[0]
}

// ask is what the server must answer to a request.
func (m *queueModel) ask(r *request) (granted bool) {
	if !m.holder.live() {
		m.holder = nil
	}
	head := m.first()
	mine := slices.IndexFunc(m.queue, func(p *place) bool { return p.request == r })
	if m.holder != nil && m.holder.request == r || m.holder == nil && (head == nil || head.request == r) {
		if mine >= 0 {
			m.queue = slices.Delete(m.queue, mine, mine+1)
		}
		m.holder = &place{r, time.Now().Add(lease)}
		return true
	}
	if r.waits && mine < 0 {
		m.queue = append(m.queue, &place{r, time.Time{}})
		mine = len(m.queue) - 1
	}
	if r.waits {
		m.queue[mine].until = time.Now().Add(lease)
	}
	return false
}

func (m *queueModel) leave(r *request) {
	m.queue = slices.DeleteFunc(m.queue, func(p *place) bool { return p.request == r })
	if m.holder.live() && m.holder.request == r {
		m.holder = nil
	}
}

// Any sequence of arrivals, askings, departures and waits gives what the model gives.
func TestTheFairLockIsItsModel(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		l := join(t, s, "fair", "a").Lock.(*lock)
		rapid.Check(inBubble{t}, func(r *rapid.T) {
			s.Mini.FlushAll()
			m, known := queueModel{}, []*request{}
			draw := func(r *rapid.T) *request {
				if len(known) == 0 {
					r.Skip("nobody has come yet")
				}
				return known[rapid.IntRange(0, len(known)-1).Draw(r, "who")]
			}
			ask := func(r *rapid.T, who *request) {
				want := m.ask(who)
				answer, err := l.how.ask(t.Context(), l, who)
				if err != nil || answer.granted != want {
					r.Fatalf("granted %v (%v), want %v", answer.granted, err, want)
				}
				if limit := lease; !want && (answer.wait < 0 || answer.wait > limit) {
					r.Fatalf("wait %v, want at most %v", answer.wait, limit)
				}
			}
			r.Repeat(map[string]func(*rapid.T){
				"come": func(r *rapid.T) {
					who := &request{token: fmt.Sprint("t", len(known)), waits: rapid.Bool().Draw(r, "waits")}
					known = append(known, who)
					ask(r, who)
				},
				"ask again": func(r *rapid.T) { ask(r, draw(r)) },
				"release": func(r *rapid.T) {
					who := draw(r)
					want := m.holder.live() && m.holder.request == who
					ok, err := l.how.release(t.Context(), l, hold{token: who.token})
					if err != nil || ok != want {
						r.Fatalf("released %v (%v), want %v", ok, err, want)
					}
					if want {
						m.holder = nil
						m.first()
					}
				},
				"withdraw": func(r *rapid.T) {
					who := draw(r)
					m.leave(who)
					m.first()
					expectErr(r, "withdraw", l.how.leave(t.Context(), l, who), nil)
				},
				"wait": func(r *rapid.T) {
					time.Sleep(time.Duration(rapid.IntRange(1, int(lease/time.Millisecond)).Draw(r, "ms")) * time.Millisecond)
				},
			})
		})
	})
}

// Waiters are granted in the order in which they came, each in the instant of the release before.
func TestFirstComeFirstServed(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		holder := join(t, s, "fair", "holder")
		holder.asks(t, "holder", write, nil)
		const waiters = 12
		var got []<-chan outcome
		var parties []party
		for i := range waiters {
			p := join(t, s, "fair", fmt.Sprint("w", i))
			parties, got = append(parties, p), append(got, p.waits(t, t.Context(), write))
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		holder.leaves(t, "holder", nil)
		for i := range waiters {
			o := <-got[i]
			wantErr(t, fmt.Sprint("waiter ", i), o.err, nil)
			for j := i + 1; j < waiters; j++ {
				if len(got[j]) > 0 {
					t.Fatalf("waiter %d was granted before waiter %d had left", j, i)
				}
			}
			time.Sleep(2 * time.Millisecond)
			before := time.Now()
			parties[i].leaves(t, fmt.Sprint("waiter ", i), nil)
			synctest.Wait()
			if i+1 < waiters && len(got[i+1]) == 0 {
				t.Fatalf("waiter %d was not woken by the release at %v", i+1, before)
			}
		}
	})
}

// A release wakes the head alone.
func TestOnlyTheHeadIsWoken(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		holder, a, b := join(t, s, "fair", "holder"), join(t, s, "fair", "a"), join(t, s, "fair", "b")
		holder.asks(t, "holder", write, nil)
		first := a.waits(t, t.Context(), write)
		time.Sleep(time.Millisecond)
		ctx, cancel := context.WithCancel(t.Context())
		second := b.waits(t, ctx, write)
		time.Sleep(time.Millisecond)
		sent := b.Record()
		holder.leaves(t, "holder", nil)
		wantErr(t, "head", (<-first).err, nil)
		if lines := sent.Take(); len(lines) != 0 {
			t.Errorf("the second in the queue was woken, too, and sent %q", lines)
		}
		cancel()
		<-second
	})
}

// Dead waiters at the head hold the others up for one lease in all, however many they are.
func TestDeadWaitersArePassedOver(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		holder := join(t, s, "fair", "holder")
		holder.asks(t, "holder", write, nil)
		for i := range 5 { // they ask once and are never heard of again
			l := join(t, s, "fair", fmt.Sprint("dead", i)).Lock.(*lock)
			r, err := l.request(write, true)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.how.ask(t.Context(), l, r); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		died := time.Now()
		got := join(t, s, "fair", "live").waits(t, t.Context(), write)
		time.Sleep(time.Millisecond)
		holder.leaves(t, "holder", nil)
		o := <-got
		wantErr(t, "live waiter", o.err, nil)
		if wait := o.at.Sub(died); wait > lease+lease/100 {
			t.Errorf("granted %v after the last of five dead waiters had asked, want at most the lease of %v", wait, lease)
		}
	})
}

// Deadlines count from each asking: ten waiters that give up one after the other leave no debt to the next.
func TestNoDriftAfterWaitersThatGaveUp(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		holder := join(t, s, "fair", "holder")
		holder.asks(t, "holder", write, nil)
		for i := range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			got := join(t, s, "fair", fmt.Sprint("w", i)).waits(t, ctx, write)
			<-got
			cancel()
		}
		holder.leaves(t, "holder", nil)
		begin := time.Now()
		o := <-join(t, s, "fair", "next").waits(t, t.Context(), write)
		wantErr(t, "next", o.err, nil)
		if o.at.Sub(begin) != 0 {
			t.Errorf("a free lock with an empty queue took %v", o.at.Sub(begin))
		}
	})
}
