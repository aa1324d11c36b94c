package checker

import (
	"cmp"
	"fmt"
	"slices"
)

// chain looks for an order of the writes, each between its call and its return, in which each has read what the one before it stored, from one
// initial value, and none has a fence below that of one before it. Writes of unknown outcome may come once at any time after their call, or never.
//
// It keeps every way to explain the writes so far. A write must be placed once no later call can come before it: then each way is extended by the
// writes under way that lead to the value it has read. If no way is left, the write has overwritten a value that its writer had not read, and the
// search goes on from what it stored. If every way that is left has a write after one with a higher fence, an accepted write was stale. A write without
// recorded values may have read and stored any.
type chain struct {
	k      *keyLog
	error  int64     // by how much the clocks of two clients may differ
	open   []*record // accepted writes that are not placed yet
	unsure []*record // writes of unknown outcome
	ways   []way
	lost   func(last, w *record)
	stale  func(earlier, w *record) // reports a write that every way places after one with a higher fence
	known  func(w *record) bool     // reports whether a write is known to be stale: its fence decides nothing more
	any    bool                     // fences decide nothing
	gained int64                    // sum of wrote-read of the accepted writes
	gaveUp int                      // writes for which not every way was tried
}

// way is one explanation.
type way struct {
	started bool // value is known
	initial int64
	value   int64
	gained  int64        // by writes of unknown outcome
	last    *record      // placed last
	highest *record      // of the writes placed, the one with the highest fence
	behind  [][2]*record // writes, each followed by one with a lower fence, that are not reported yet
	placed  []*record    // of open
	used    []*record    // of unsure
}

// Bounds on the search for one write.
const (
	maxWays  = 1 << 10
	maxTries = 1 << 14
)

func (c *chain) read(r *record) int64  { return c.k.detailOf(r).until }
func (c *chain) wrote(r *record) int64 { return c.k.detailOf(r).end }
func (c *chain) valued(r *record) bool { return c.k.detailOf(r).role == valued }

// fits reports whether a write may have read what a way leads to.
func (c *chain) fits(from way, r *record) bool {
	return !from.started || !c.valued(r) || c.read(r) == from.value
}

// isBehind reports whether a write is stale if it comes after a way.
func (c *chain) isBehind(from way, r *record) bool {
	fence := c.fence(r)
	return !c.any && fence != 0 && fence < c.fence(from.highest) && !c.known(r)
}

// fence returns the fence of a write; 0: none.
func (c *chain) fence(w *record) uint64 {
	if w == nil {
		return 0
	}
	return c.k.detailOf(w).fence
}

// place places the writes that no call at now or later can precede.
func (c *chain) place(now int64) {
	for len(c.open) > 0 {
		first := slices.MinFunc(c.open, func(a, b *record) int { return cmp.Or(cmp.Compare(a.ret, b.ret), c.inTurn(a, b)) })
		if now != never && plus(first.ret, c.error) >= now {
			return
		}
		c.next(first)
	}
}

// inTurn orders writes by call, and those at one instant by their values: names decide nothing.
func (c *chain) inTurn(a, b *record) int {
	return cmp.Or(byInstant(*a, *b), cmp.Compare(c.read(a), c.read(b)), cmp.Compare(c.wrote(a), c.wrote(b)), byCall(*a, *b))
}

// add adds an accepted write.
func (c *chain) add(w *record) {
	at, _ := slices.BinarySearchFunc(c.open, w, c.inTurn)
	c.open = slices.Insert(c.open, at, w)
}

// next places w in every way, after the writes that may precede it.
func (c *chain) next(w *record) {
	ways, all := c.reach(w)
	slices.SortStableFunc(ways, func(a, b way) int { return cmp.Compare(len(a.behind), len(b.behind)) })
	c.reportFewest(ways)
	c.gained += c.wrote(w) - c.read(w)
	if !all || len(ways) > maxWays {
		c.gaveUp++
	}
	if len(ways) == 0 {
		last := c.ways[0].last
		if all {
			c.lost(last, w)
		}
		forced := c.then(c.ways[0], w, false)
		forced.started = true
		ways = []way{forced}
	}
	c.ways = ways[:min(len(ways), maxWays)]
	for i := range c.ways {
		c.ways[i].placed = without(c.ways[i].placed, w)
	}
	c.open = slices.DeleteFunc(c.open, func(r *record) bool { return r == w })
}

// reportFewest reports the stale writes of the first way, which has the fewest.
func (c *chain) reportFewest(ways []way) {
	if len(ways) == 0 || len(ways[0].behind) == 0 {
		return
	}
	behind := ways[0].behind
	for _, b := range behind {
		c.stale(b[0], b[1])
	}
	for i := range ways {
		ways[i].behind = ways[i].behind[len(behind):]
	}
}

// reach returns the ways that end with w, or have placed it before; all reports whether every one was tried.
func (c *chain) reach(w *record) (ways []way, all bool) {
	seen := map[string]bool{}
	tries := maxTries
	for _, from := range c.ways {
		if slices.Contains(from.placed, w) {
			ways = append(ways, from)
			continue
		}
		if len(c.open) == 1 && from.started && c.fits(from, w) {
			ways = append(ways, c.then(from, w, false))
			continue
		}
		c.continued(from, w, &tries, seen, func(to way) { ways = append(ways, to) })
	}
	return ways, tries > 0
}

func without(list []*record, w *record) []*record {
	if !slices.Contains(list, w) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(r *record) bool { return r == w })
}

// then returns a way extended by one write.
func (c *chain) then(from way, w *record, unsure bool) way {
	to := from
	if !from.started && from.last == nil {
		to.initial = c.read(w)
	}
	if c.isBehind(from, w) {
		to.behind = append(slices.Clone(from.behind), [2]*record{from.highest, w})
	}
	if c.fence(w) > c.fence(from.highest) {
		to.highest = w
	}
	to.started, to.value, to.last = c.valued(w), c.wrote(w), w
	if unsure {
		to.used = append(slices.Clone(from.used), w)
		to.gained += c.wrote(w) - c.read(w)
	} else {
		to.placed = append(slices.Clone(from.placed), w)
	}
	return to
}

// continued calls each with every extension of a way that ends with w; with w nil, with every extension by writes of unknown outcome.
func (c *chain) continued(from way, w *record, tries *int, seen map[string]bool, each func(way)) {
	if *tries--; *tries < 0 {
		return
	}
	key := fmt.Sprint(from.value, from.started, c.fence(from.highest), len(from.behind), from.placed, from.used)
	if seen[key] {
		return
	}
	seen[key] = true
	by := never
	if w != nil {
		by = plus(w.ret, c.error)
		for _, r := range c.open {
			if r.call > by || !c.may(from, r) {
				continue
			}
			if to := c.then(from, r, false); r == w {
				each(to)
			} else {
				c.continued(to, w, tries, seen, each)
			}
		}
	}
	for _, u := range c.unsure {
		if u.call > by || slices.Contains(from.used, u) || !c.fits(from, u) || c.awaits(from, u) {
			continue
		}
		to := c.then(from, u, true)
		if w == nil {
			each(to)
		}
		c.continued(to, w, tries, seen, each)
	}
}

// may reports whether an accepted write may be the next.
func (c *chain) may(from way, r *record) bool {
	return !slices.Contains(from.placed, r) && c.fits(from, r) && !c.awaits(from, r)
}

// awaits reports whether an earlier write of the same client is not placed yet: a client does one thing after the other, whatever the clock error.
func (c *chain) awaits(from way, r *record) bool {
	return slices.ContainsFunc(c.open, func(o *record) bool {
		return o != r && o.client == r.client && o.ret <= r.call && o.call < r.ret && !slices.Contains(from.placed, o)
	})
}

// ending returns a way that ends with a value, if needed by writes of unknown outcome.
func (c *chain) ending(value int64) (way, bool) {
	for _, from := range c.ways {
		if !from.started || from.value == value {
			return from, true
		}
	}
	tries := maxTries
	var found *way
	for _, from := range c.ways {
		c.continued(from, nil, &tries, map[string]bool{}, func(to way) {
			if found == nil && (!to.started || to.value == value) {
				found = &to
			}
		})
	}
	if found == nil {
		return c.ways[0], tries < 0
	}
	return *found, true
}

// mayHaveLeft returns the latest write of unknown outcome that wrote a value, or any; nil if there is none.
func (c *chain) mayHaveLeft(value int64) *record {
	for _, u := range slices.Backward(c.unsure) {
		if !c.valued(u) || c.wrote(u) == value {
			return u
		}
	}
	return nil
}
