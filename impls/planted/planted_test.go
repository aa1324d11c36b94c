package planted

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/beyond"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lease lasts: a quorum gives a node a twentieth of it to answer.
const lease = 10 * time.Second

// A mutant differs from a correct lock in one thing, so that it passes what everybody tries first:
// take, be refused, give back, take.
func TestMutantsLookRight(t *testing.T) {
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range Variants() {
			a, b := s.Join(t, v, "a", lease), s.Join(t, v, "b", lease)
			_, err := a.Try(t.Context(), history.Exclusive)
			if err != nil {
				t.Errorf("%s: %v", v.Name, err)
				continue
			}
			switch _, err := b.Try(t.Context(), history.Exclusive); {
			// seen at once
			case v.Name == "bug-one-too-many" || v.Name == "bug-busy-is-unavailable" || v.Name == "bug-quorum-of-half":
			case !errors.Is(err, impls.ErrBusy):
				t.Errorf("%s: second client: %v, want busy", v.Name, err)
			}
			released := a.Release(t.Context())
			_, err = b.Try(t.Context(), history.Exclusive)
			if seen := v.Name == "bug-one-too-many" || v.Name == "bug-packed-release"; !seen && (released != nil || err != nil) {
				t.Errorf("%s: release: %v; second client afterwards: %v", v.Name, released, err)
			}
			if err := s.Client(t).Redis.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// An edit must change exactly one place.
func TestEditsThatFitNothingAreRefused(t *testing.T) {
	from := []*impls.Script{impls.NewScript("a.lua", "return 1 + 1")}
	for _, e := range []edit{
		{"b.lua", "return", ""}, // no such script
		{"a.lua", "2", "3"},     // not there
		{"a.lua", "1", "2"},     // there twice
	} {
		if _, err := apply("x", from, []edit{e}); err == nil {
			t.Errorf("%+v was applied", e)
		}
	}
	changed, err := apply("x", from, []edit{{"a.lua", "1 + 1", "2"}})
	if err != nil || changed[from[0].Digest()].Source != "return 2" {
		t.Errorf("%v, %v", changed, err)
	}
}

// What a mutant sends has a name of its own in reports, and the correct lock's scripts stay what
// they were.
func TestChangedScriptsHaveNamesOfTheirOwn(t *testing.T) {
	names := map[string]string{}
	for _, v := range beyond.Variants() {
		for _, s := range v.Scripts {
			names[s.Digest()] = s.Name
		}
	}
	for _, v := range Variants() {
		for _, s := range v.Scripts {
			changed := strings.HasPrefix(s.Name, "bug_")
			if name, correct := names[s.Digest()]; correct && (changed || name != s.Name) {
				t.Errorf("%s: %s is the correct %s", v.Name, s.Name, name)
			}
		}
	}
	if got := script(t, "bug-readers-cleared", "bug_readers_cleared_rw_release_read.lua"); !strings.Contains(got, "'DEL', KEYS[3]") {
		t.Errorf("the changed script is not what the mutant says:\n%s", got)
	}
}

func script(t *testing.T, variant, name string) string {
	t.Helper()
	for _, v := range Variants() {
		if s := find(v.Scripts, name); v.Name == variant && s != nil {
			return s.Source
		}
	}
	t.Fatalf("%s has no script %s", variant, name)
	return ""
}
