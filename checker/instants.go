package checker

import "slices"

// instants are the times of an order: variables with bounds and differences. Every constraint says that one is at least another plus a constant, so
// the least solution is found by raising variables; there is none if one passes its bound. With a clock error the first variables are the clocks: how
// far each is behind. That none is further behind than the clock error bounds how far any two are apart.
type instants struct {
	at     []int64
	most   []int64
	edges  []edge
	clocks bool
}

type edge struct {
	from, to int
	by       int64
}

func newInstants(x *executions) (t instants) {
	if x.h.ClockError > 0 {
		t.clocks, t.at, t.most = true, make([]int64, x.clocks), slices.Repeat([]int64{x.h.ClockError}, x.clocks)
	}
	return t
}

// branch returns the instants for one continuation of an order. The search is depth first, so what it appends to the bounds and differences may
// overwrite those of the continuation before.
func (t instants) branch() instants {
	const more = 8 // variables of most continuations
	t.at = append(make([]int64, 0, len(t.at)+more), t.at...)
	return t
}

func (t *instants) variable() int {
	t.at, t.most = append(t.at, -never), append(t.most, never)
	return len(t.at) - 1
}

// after requires variable b to be at least a plus by.
func (t *instants) after(a, b int, by int64) { t.edges = append(t.edges, edge{a, b, by}) }

// bound keeps a variable between the call and return of an effect, by its clock.
func (t *instants) bound(v int, e *effectOf) {
	t.atLeast(v, e, e.from)
	switch {
	case !t.clocks:
		t.most[v] = e.to
	case e.to != never:
		t.after(v, e.clock, -e.to)
	}
}

// atLeast requires a variable to be no earlier than an instant, by the clock of an effect.
func (t *instants) atLeast(v int, e *effectOf, at int64) {
	if t.clocks {
		t.after(e.clock, v, at)
		return
	}
	t.at[v] = max(t.at[v], at)
}

func (t *instants) solve() bool {
	changed := true
	for round := 0; changed; round++ {
		if round > len(t.at)+1 { // they would raise each other for ever
			return false
		}
		changed = false
		for _, e := range t.edges {
			if t.at[e.from] == -never {
				continue
			}
			if at := t.at[e.from] + e.by; at > t.at[e.to] {
				if at > t.most[e.to] {
					return false
				}
				t.at[e.to], changed = at, true
			}
		}
	}
	return true
}
