package checker

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

var update = flag.Bool("update", false, "write the shares of breaks that are caught into docs/data.md")

// TestBrokenRecords breaks one thing in the record of a correct server and counts how often the
// right property fails. The table stands in docs/data.md.
func TestBrokenRecords(t *testing.T) {
	rows := []struct {
		name, what string
		property   verdicts.Property
		floor      float64
		kinds      []history.Kind
	}{
		{"early-grant", "a grant while another holds", verdicts.MutualExclusion, 95, kinds},
		{"outlived-lease", "a section that goes on after its lease", verdicts.ExclusiveUse, 95, kinds[:2]},
		{"lost-update", "a write that overwrites what was not read", verdicts.StoreIntegrity, 95, kinds[:1]},
		{"late-write", "a write after the end of its lease and a later one's write", verdicts.StoreIntegrity, 95, kinds[:1]},
		{"lower-fence", "a fence below an earlier one", verdicts.FencingOrder, 95, kinds[:2]},
		{"ends-anothers", "a release that ends another's hold", verdicts.ReleaseSafety, 80, kinds[:1]},
		{"extend-of-gone", "an extend of what is gone", verdicts.ReleaseSafety, 95, kinds},
		{"refused-release", "a refused release of a live hold", verdicts.ReleaseSafety, 85, []history.Kind{history.Mutex}},
		{"refused-free", "a refusal of a free lock", verdicts.Refusal, 80, kinds},
		{"stuck-waiter", "a free lock that nobody is granted", verdicts.Progress, 90, kinds},
	}
	var table strings.Builder
	table.WriteString("| what is broken | property | caught |\n|---|---|--:|\n")
	for _, row := range rows {
		broke, caught := 0, 0
		for _, kind := range row.kinds {
			for seed := range histories(1000) {
				s := simulate(kind, seed, row.name)
				if !s.broke {
					continue
				}
				v, err := Check(t.Context(), s.input(), Options{Seed: seed, Bare: true, Unsearched: true})
				if err != nil {
					t.Fatalf("%s, %s, seed %d: %v", row.name, kind, seed, err)
				}
				if broke++; v.property(row.property).Verdict == Fail {
					caught++
				}
			}
		}
		share := 100 * float64(caught) / float64(max(broke, 1))
		t.Logf("%-16s %-18s %5.1f %% of %d", row.name, row.property, share, broke)
		if share < row.floor || broke < 5 {
			t.Errorf("%s: %.1f %% of %d are caught, the floor is %.0f %%", row.name, share, broke, row.floor)
		}
		fmt.Fprintf(&table, "| %s | `%s` | %.0f %% of %d |\n", row.what, row.property, share, broke)
	}
	if *update {
		writeTable(t, table.String())
	}
}

// writeTable replaces the table between its marks in docs/data.md.
func writeTable(t *testing.T, table string) {
	t.Helper()
	const file, begin, end = "../docs/data.md", "<!-- caught -->\n", "<!-- end -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), begin)
	_, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%s lacks %q", file, begin)
	}
	if err := os.WriteFile(file, []byte(before+begin+table+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
