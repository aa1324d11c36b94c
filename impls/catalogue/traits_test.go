package catalogue_test

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

// TestTraitsAreTrue: what a lock is said to be able to do it does, and nothing else: the kit asks a
// lock only for what it is said to do.
func TestTraitsAreTrue(t *testing.T) {
	for _, v := range catalogue.Locks() {
		if v.Name == "lua-nil" || v.Name == "rw-owner" || v.Topology == impls.Replicated {
			continue // never granted, or not without a replica
		}
		t.Run(v.Name, func(t *testing.T) {
			redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
				on := stage{[]*redistest.Server{s}, &redistest.Commands{}, time.Second}
				if v.Topology == impls.Independent {
					on.servers = append(on.servers, redistest.NewVirtual(t), redistest.NewVirtual(t))
				}
				a, b := on.player(t, v, "a"), on.player(t, v, "b")
				g, err := a.Try(t.Context(), history.Exclusive)
				redistest.WantErr(t, "acquire", err, nil)
				extended := supports(t, "extend", func() error { _, err := a.Extend(t.Context()); return err })
				time.Sleep(2 * on.lease)
				_, err = b.Try(t.Context(), history.Exclusive)
				renewed := err != nil && !v.Traits.NoLease
				_ = a.Release(t.Context())
				_ = b.Release(t.Context())
				again, err := a.Try(t.Context(), history.Exclusive)
				redistest.WantErr(t, "acquire again", err, nil)
				_ = a.Release(t.Context())
				shared := supports(t, "shared", func() error { _, err := b.Try(t.Context(), history.Shared); return err })
				for _, row := range []struct {
					trait     string
					said, did bool
				}{
					{"Extends", v.Traits.Extends, extended},
					{"Shared", v.Traits.Shared, shared},
					{"SelfRenewing", v.Traits.SelfRenewing && v.Name != "watchdog-bounded", renewed}, // that renews too late
					{"Validity", v.Traits.Validity, !g.ValidUntil.IsZero()},
					{"NotifiesLoss", v.Traits.NotifiesLoss, g.Lost != nil},
					{"UniqueToken", v.Traits.UniqueToken, g.Token != "" && g.Token != again.Token},
					{"Fenced", v.Traits.Fenced, g.Fence > 0 && again.Fence > g.Fence},
				} {
					if row.said != row.did {
						t.Errorf("%s is said to be %v, and is %v", row.trait, row.said, row.did)
					}
				}
			})
		})
	}
}

// supports reports whether a call works; one that does not must be refused as unsupported.
func supports(t *testing.T, what string, call func() error) bool {
	t.Helper()
	err := call()
	if err != nil {
		redistest.WantErr(t, what, err, impls.ErrUnsupported)
	}
	return err == nil
}
