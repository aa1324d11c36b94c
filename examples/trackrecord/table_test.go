package main

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the table of docs/findings.md")

const (
	findings  = "../../docs/findings.md"
	libraries = "libraries.md"
	begin     = "<!-- trackrecord: written by go test ./examples/trackrecord -update -->\n"
	end       = "<!-- end of trackrecord -->"
)

// TestFindingsHaveTheTable: docs/findings.md has the table of record.json.
func TestFindingsHaveTheTable(t *testing.T) {
	rows, err := readRows(recordFile)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(findings)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no table between %q and %q", findings, begin, end)
	}
	var out strings.Builder
	table(&out, rows)
	want := before + begin + "\n" + out.String() + "\n" + end + after
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s is not what -update would write (- is, + would be):\n%s", findings, cmp.Diff(string(text), want))
	}
	if err := os.WriteFile(findings, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestRowsAreOfTheLibraries: each row is of the shipped version of a library, in order.
func TestRowsAreOfTheLibraries(t *testing.T) {
	rows, err := readRows(recordFile)
	if err != nil {
		t.Fatal(err)
	}
	all := shipped()
	for _, r := range rows {
		at := slices.IndexFunc(all, func(l library) bool { return l.name == r.Library && l.version == r.Version })
		if at < 0 {
			t.Fatalf("%s %s is not shipped, or its row is misplaced", r.Library, r.Version)
		}
		all = all[at+1:]
	}
}

// TestWhatNoLeasePrevents: a break that no lease prevents does not count against a library.
func TestWhatNoLeasePrevents(t *testing.T) {
	r := row{Observed: map[string]string{
		"steady": "safe", "pause-holder": "exclusive-use/lease-overrun store-integrity/lease-overrun",
		"late-release": "mutual-exclusion/late-request exclusive-use/lease-overrun", "slow-network": "mutual-exclusion/late-request",
	}}
	breaks, safe, leases := r.own()
	if want := []string{"mutual-exclusion/late-request (late-release, slow-network)"}; !cmp.Equal(breaks, want) || safe != 1 || leases != 1 {
		t.Errorf("%q, %d safe, %d as every lease; want %q, 1 and 1", breaks, safe, leases, want)
	}
}

// TestEveryLibraryIsDescribed: docs/findings.md has a section or an item for each library, and
// libraries.md a row that says its version, source, promise, reports and command.
func TestEveryLibraryIsDescribed(t *testing.T) {
	text, err := os.ReadFile(findings)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := os.ReadFile(libraries)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range shipped() {
		if !strings.Contains(string(text), "\n## "+l.name+"\n") && !strings.Contains(string(text), "\n- **"+l.name+"**") {
			t.Errorf("%s has neither a section nor an item", l.name)
		}
		_, row, _ := strings.Cut(string(rows), "\n| "+l.name+" | ")
		row, _, _ = strings.Cut(row, " |\n")
		if cells := strings.Split(row, " | "); len(cells) != 5 || slices.Contains(cells, "") || !strings.Contains(cells[0], l.version) {
			t.Errorf("%s: want version %s, source, promise, reports and command, have %q", l.name, l.version, cells)
		}
	}
}
