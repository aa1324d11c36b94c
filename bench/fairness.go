package bench

import (
	"sort"

	"github.com/lockbench/lockbench/history"
)

// jain returns Jain's fairness index (1984) of the holds of n clients: (Σx)²/(n·Σx²), 1 if equal,
// 1/n if one has all; 0 without holds.
func jain(got []int64) float64 {
	var sum, squares float64
	for _, x := range got {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(got)) * squares)
}

// bypasses counts, in operations by call, the grants to a client that called acquire after another
// one that was still waiting for the key when the grant returned.
func bypasses(ops []history.Operation, from, to int64) (n int64) {
	// by key, by client, in the order of the calls: a client has one at a time on a key
	waits := map[string]map[string][]*history.Operation{}
	for i := range ops {
		op := &ops[i]
		if op.Op != history.Acquire {
			continue
		}
		if waits[op.Key] == nil {
			waits[op.Key] = map[string][]*history.Operation{}
		}
		waits[op.Key][op.Client] = append(waits[op.Key][op.Client], op)
	}

	for i := range ops {
		if g := &ops[i]; g.Granted() && g.Return >= from && g.Return < to && overtook(g, waits[g.Key]) {
			n++
		}
	}
	return n
}

// overtook reports whether a client that had been waiting longer was still waiting at a grant.
func overtook(g *history.Operation, waits map[string][]*history.Operation) bool {
	for client, all := range waits {
		if client == g.Client {
			continue
		}
		i := sort.Search(len(all), func(i int) bool { return all[i].Call >= g.Call }) - 1
		if i >= 0 && all[i].Return > g.Return {
			return true
		}
	}
	return false
}
