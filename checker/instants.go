package checker

import (
	"slices"
)

// instants are the times of an order: variables with bounds and differences. Every constraint says that one is at least another plus a constant, so
// the least solution is found by raising variables; there is none if one passes its bound. With a clock error each client's clock is a variable too:
// how far it is behind.
type instants struct {
	at    []int64
	most  []int64
	edges []edge
	error int64
	first int // the variables before it are the clocks
}

type edge struct {
	from, to int
	by       int64
}

func newInstants(x *executions) instants {
	t := instants{error: x.h.ClockError}
	if t.error == 0 {
		return t
	}
	for range x.clients {
		t.at, t.most = append(t.at, 0), append(t.most, t.error)
	}
	for a := range x.clients {
		for b := range x.clients {
			if a != b {
				t.after(a, b, -t.error)
			}
		}
	}
	t.first = x.clients
	return t
}

func (t instants) clone() instants {
	t.at, t.most, t.edges = slices.Clone(t.at), slices.Clone(t.most), slices.Clone(t.edges)
	return t
}

func (t *instants) variable() int {
	t.at, t.most = append(t.at, -never), append(t.most, never)
	return len(t.at) - 1
}

// after requires variable b to be at least a plus by.
func (t *instants) after(a, b int, by int64) { t.edges = append(t.edges, edge{a, b, by}) }

// bound keeps a variable between the call and return of an effect, by its client's clock.
func (t *instants) bound(v int, e *effectOf) {
	if t.error == 0 {
		t.at[v], t.most[v] = e.from, e.to
		return
	}
	t.after(e.client, v, e.from)
	if e.to != never {
		t.after(v, e.client, -e.to)
	}
}

// atLeast requires a variable to be no earlier than an instant, by the clock of an effect's client.
func (t *instants) atLeast(v int, e *effectOf, at int64) {
	if t.error == 0 {
		t.at[v] = max(t.at[v], at)
		return
	}
	t.after(e.client, v, at)
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
