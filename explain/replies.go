package explain

import "strings"

// replies counts, for each reply to a request of an acquire, the granted and the refused attempts in which it was seen.
type replies struct {
	seen   map[shape]map[answer]tally
	places map[position]tally // decisive items, by place; computed when needed
	same   map[shape]bool     // whether all grants got one reply, and refusals others; computed when needed
}

// answer is a whole reply, or one item of a reply that is an array: fences and remaining times vary where another item tells a grant from a refusal.
type answer struct {
	text     string
	at, size int // of the item; 0, 0: a whole reply
}

// position is a place in the replies that are arrays of one size.
type position struct {
	shape
	at, size int
}

// tally counts attempts by how they ended.
type tally struct{ granted, refused int }

// decides reports whether only granted attempts, or only refused ones, are counted, or so few refused ones that their clients may have given up grants
// that came too late.
func (t tally) decides() bool {
	return (t.granted > 0) != (t.refused > 0) || t.granted > givenUp*t.refused
}

// refuses reports what a tally that decides says.
func (t tally) refuses() bool { return t.refused > t.granted }

// givenUp is how many grants there are, at least, for one that its client gave up.
const givenUp = 8

// add counts a reply and its items.
func (r *replies) add(s shape, reply string, granted bool) {
	for _, a := range answers(reply) {
		r.count(s, a, granted)
	}
}

func (r *replies) count(s shape, a answer, granted bool) {
	if r.seen[s] == nil {
		r.seen[s] = map[answer]tally{}
	}
	t := r.seen[s][a]
	if granted {
		t.granted++
	} else {
		t.refused++
	}
	r.seen[s][a], r.places, r.same = t, nil, nil
}

// of counts the attempts in which a reply was seen.
func (r *replies) of(s shape, reply string) tally { return r.seen[s][answer{text: reply}] }

// refuse reports whether a reply means a refusal, if that is known: the whole reply was seen only in grants or only in refusals, or an item was, at a
// place that distinguishes them, or all grants got another. If its items disagree, those seen in more attempts decide: a flag recurs, while a count or a
// remaining time differs each time and matches only by chance.
func (r *replies) refuse(s shape, reply string) (refused, known bool) {
	if t := r.of(s, reply); t.decides() {
		return t.refuses(), true
	}
	var items tally
	for _, a := range answers(reply)[1:] {
		switch t := r.seen[s][a]; {
		case !t.decides() || !r.distinguishes(s, a):
		default:
			items.granted, items.refused = items.granted+t.granted, items.refused+t.refused
		}
	}
	if items.refused == items.granted && r.of(s, reply) == (tally{}) && r.oneGrants(s) {
		return true, true
	}
	return items.refused > items.granted, items.refused != items.granted
}

// oneGrants reports whether all grants, at least two, got the same reply to a request, and refusals got others.
func (r *replies) oneGrants(s shape) bool {
	if one, known := r.same[s]; known {
		return one
	}
	grants, replies, refusals := 0, 0, 0
	for a, t := range r.seen[s] {
		switch {
		case a.size != 0:
		case t.granted > 0:
			grants, replies = grants+t.granted, replies+1
		default:
			refusals++
		}
	}
	if r.same == nil {
		r.same = map[shape]bool{}
	}
	r.same[s] = grants > 1 && replies == 1 && refusals > 0
	return r.same[s]
}

// distinguishes reports whether, at the place of an item, some items were seen only in grants and others only in refusals.
func (r *replies) distinguishes(s shape, item answer) bool {
	if r.places == nil {
		r.places = map[position]tally{}
		for of, items := range r.seen {
			for a, t := range items {
				at := position{of, a.at, a.size}
				kinds := r.places[at]
				switch {
				case !t.decides():
				case t.refuses():
					kinds.refused++
				default:
					kinds.granted++
				}
				r.places[at] = kinds
			}
		}
	}
	kinds := r.places[position{s, item.at, item.size}]
	return kinds.granted > 0 && kinds.refused > 0
}

// answers returns a reply and, if it is an array, its items.
func answers(reply string) []answer {
	all := []answer{{text: reply}}
	if strings.HasPrefix(reply, "[") {
		items := itemsOf(reply)
		for i, item := range items {
			all = append(all, answer{item, i, len(items)})
		}
	}
	return all
}
