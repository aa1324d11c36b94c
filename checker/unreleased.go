package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// unreleased are the grants, in the order of their calls, whose holds no answered release has certainly closed: what a client asks later may mean them,
// even after their leases. A release closes the hold to which it belongs if it can mean no other.
type unreleased struct {
	d       *keyInput
	grants  []*record        // of each client the last ones
	renewed map[uint32]int64 // by client: return of its last grant or successful extend
}

func (d *keyInput) unreleased() unreleased { return unreleased{d: d, renewed: map[uint32]int64{}} }

// add counts an operation that was called after those before.
func (u *unreleased) add(r *record) {
	if r.detailed() {
		u.renewed[r.client] = max(u.renewed[r.client], r.ret)
	}
	own := u.d.holdOf(r)
	switch {
	case r.granted():
		u.grants = append(u.grants, r)
		if n := u.of(r.client); len(n) > maxOpen {
			u.drop(n[0])
		}
	case r.op == history.Release && (r.outcome == history.OK || r.saysGone()) && own != nil && !u.meansAnother(r):
		u.drop(own.began)
	}
}

func (u *unreleased) drop(grant *record) {
	u.grants = slices.DeleteFunc(u.grants, func(g *record) bool { return g == grant })
}

// of returns the grants of a client.
func (u *unreleased) of(client uint32) (all []*record) {
	for _, g := range u.grants {
		if g.client == client {
			all = append(all, g)
		}
	}
	return all
}

// meansAnother reports whether an operation may belong to another hold of its client than the record says: it or the holds have no token, or it may have
// come before its client's last grant or renewal.
func (u *unreleased) meansAnother(r *record) bool {
	own, last := u.d.holdOf(r), u.renewed[r.client]
	return r.call < last || r.call == last && r.ret == last || slices.ContainsFunc(u.grants, func(g *record) bool {
		return (own == nil || own.began != g) && u.d.mayMean(r, g)
	})
}
