package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// keyInput is what the judges of one key share. They change nothing of it.
type keyInput struct {
	a   *archive
	k   *keyLog
	ev  *evidence
	opt Options
}

// names returns the names of operations' clients.
func (d *keyInput) names(of ...op) (names []string) {
	for i := range of {
		if name := d.a.client(&of[i]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// uses reports whether a rule is in use. A test switches single rules off, to show what each is
// needed for.
func (d *keyInput) uses(rule string) bool { return d.opt.without != rule }

// Permits returns how many holds that conflict may be in force at once.
func Permits(h history.Header) int {
	if h.Kind == history.Semaphore {
		return max(h.Permits, 1)
	}
	return 1
}

// Conflict reports whether two holds, of the same client or of two, exclude each other.
func Conflict(kind history.Kind, same bool, a, b history.Mode) bool {
	switch {
	case kind == history.Reentrant:
		return !same
	case kind == history.RW:
		return !same && (a == history.Exclusive || b == history.Exclusive)
	}
	return true
}

// mayRefuse reports whether a hold may refuse an acquire. A client's own may as any other: whether
// a re-entrant lock may refuse its owner is judged as reentrancy.
func mayRefuse(kind history.Kind, held, asked history.Mode) bool {
	return kind != history.RW || held == history.Exclusive || asked == history.Exclusive
}

// manyMayHold reports whether a hold of the mode may be one of several.
func manyMayHold(h history.Header, m history.Mode) bool {
	return h.Kind == history.RW && m == history.Shared || Permits(h) > 1
}
