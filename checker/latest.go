package checker

import (
	"math"
	"slices"
)

// interval is a belief or a use.
type interval struct {
	owner      uint32 // see overlaps
	place      uint32 // of the operation that began it
	start, end int64
}

// latest keeps the intervals that end last, one of each owner.
type latest struct {
	most int
	list []interval // the last to end first
}

func (l *latest) add(i interval) {
	if at := slices.IndexFunc(l.list, func(x interval) bool { return x.owner == i.owner }); at >= 0 {
		if l.list[at].end > i.end {
			return
		}
		l.list = slices.Delete(l.list, at, at+1)
	}
	at := 0
	for at < len(l.list) && l.list[at].end > i.end {
		at++
	}
	l.list = slices.Insert(l.list, at, i)
	l.list = l.list[:min(len(l.list), l.most)]
}

// others returns when the last of other owners ends.
func (l *latest) others(owner uint32) int64 {
	for _, i := range l.list {
		if i.owner != owner {
			return i.end
		}
	}
	return math.MinInt64
}
