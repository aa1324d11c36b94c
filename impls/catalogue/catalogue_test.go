package catalogue

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/expect"
	"github.com/lockbench/lockbench/verdicts"
)

// all is every variant, the planted bugs too.
func all() []impls.Variant { return append(Locks(), Planted()...) }

func TestEveryEntryIsFilledIn(t *testing.T) {
	for _, v := range all() {
		if v.Summary == "" || !strings.HasSuffix(v.Summary, ".") || v.Kind == "" || v.Topology == "" || v.New == nil {
			t.Errorf("%s: summary (a sentence), kind, topology and New are required: %+v", v.Name, v)
		}
		if v.Source.Article == "" || v.Source.Where == "" {
			t.Errorf("%s: the source is missing: %+v", v.Name, v.Source)
		}
		if v.Planted == nil && len(v.Claims) == 0 {
			t.Errorf("%s: no claim", v.Name)
		}
		for _, c := range v.Claims {
			if c.Text == "" || !strings.HasPrefix(c.Command, "lockbench ") {
				t.Errorf("%s: a claim needs a text and the lockbench command that shows it: %+v", v.Name, c)
			}
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range all() {
		if v.Name == "" || seen[v.Name] {
			t.Errorf("name %q is empty or taken twice", v.Name)
		}
		seen[v.Name] = true
		if found, ok := Find(v.Name); !ok || found.Summary != v.Summary {
			t.Errorf("Find(%q) finds %+v", v.Name, found)
		}
	}
	if _, ok := Find("no such lock"); ok {
		t.Error("Find finds a lock that does not exist")
	}
}

func TestPlantedBugsAreMarked(t *testing.T) {
	for _, v := range Locks() {
		if v.Planted != nil {
			t.Errorf("%s is a planted bug and offered as a lock", v.Name)
		}
	}
	for _, v := range Planted() {
		if v.Planted == nil || v.Planted.Bug == "" || v.Planted.Report == "" {
			t.Errorf("%s: a planted bug says what was changed and which report it follows: %+v", v.Name, v.Planted)
		} else if _, ok := Find(v.Planted.Of); !ok {
			t.Errorf("%s: a mutant of %q, which is not in the catalogue", v.Name, v.Planted.Of)
		}
	}
}

// special are the scenarios for locks with certain traits. Only such locks have an expectation for
// them.
var special = []string{
	"pause-extend", "long-lease", "give-up", "crash-queue", "nested", "late-renewal", "lost-release", "late-write",
	"failover-held", "failover-behind", "cluster-failover", "lost-reply-alone", "late-outer-grant", "split-vote",
	"read-mostly", "crash-reader", "crash-writer-waiting", "crowd-of-readers", "several-permits", "many-names", "restart-same-owner",
}

func TestEveryScenarioHasAnExpectation(t *testing.T) {
	names := expect.Scenarios()
	for _, v := range Locks() {
		for _, n := range names {
			if _, ok := v.Expect[n]; !ok {
				t.Errorf("%s: no expectation for %s", v.Name, n)
			}
		}
		for n := range v.Expect {
			if !slices.Contains(names, n) && !slices.Contains(special, n) {
				t.Errorf("%s: an expectation for %q, which is neither in expect.Scenarios nor in special", v.Name, n)
			}
		}
	}
}

func TestExpectationsUseTheVocabulary(t *testing.T) {
	properties, causes := verdicts.Properties(), verdicts.Causes()
	for _, v := range all() {
		for name, e := range v.Expect {
			for _, b := range slices.Concat(e.Breaks, e.May) {
				open := v.Planted != nil && b.Cause == ""
				if !slices.Contains(properties, b.Property) || !slices.Contains(causes, b.Cause) && !open {
					t.Errorf("%s, %s: %q is not property/cause", v.Name, name, b)
				}
				if e.NA != "" {
					t.Errorf("%s, %s: does not apply, and yet %q is expected", v.Name, name, b)
				}
			}
		}
	}
}

func TestScriptsHaveHeaders(t *testing.T) {
	names := map[string]string{}
	for _, v := range all() {
		for _, s := range v.Scripts {
			header, _, _ := strings.Cut(s.Source, "\n")
			if header != "-- name: "+s.Name {
				t.Errorf("%s: %s begins with %q, want its name", v.Name, s.Name, header)
			}
			for _, word := range []string{"\n-- keys", "\n-- replies"} {
				if !strings.Contains(strings.ToLower(s.Source), word) {
					t.Errorf("%s: the header of %s has no line %q", v.Name, s.Name, strings.TrimSpace(word))
				}
			}
			if other, ok := names[s.Name]; ok && other != s.Digest() {
				t.Errorf("%s: two scripts are called %s", v.Name, s.Name)
			}
			names[s.Name] = s.Digest()
		}
	}
	for name, digest := range names {
		if got := ScriptNames()[digest]; got != name {
			t.Errorf("ScriptNames calls %s %q", name, got)
		}
	}
}

// TestVotes: which locks may refuse an attempt because of another attempt that was not granted.
func TestVotes(t *testing.T) {
	rows := []struct {
		lock string
		want bool
	}{
		{"token", false},
		{"redisson", false},  // waits, and in no order
		{"redlock", true},    // the nodes' votes split
		{"fair", true},       // a newcomer stands behind those who wait
		{"semaphore", false}, // one script counts and takes
		{"rw-lease", false},
		{"redsync-quorum", true},
		{"redsync", false}, // the same library on one node
	}
	for _, r := range rows {
		v, ok := Find(r.lock)
		if !ok || v.Votes() != r.want {
			t.Errorf("%s: votes %v, want %v", r.lock, v.Votes(), r.want)
		}
	}
	counted := impls.Variant{Traits: impls.Traits{Permits: true, MultiCommand: true}}
	if !counted.Votes() {
		t.Error("permits that are counted in one command and taken in another do not vote")
	}
}
