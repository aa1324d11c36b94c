package explain_test

import (
	"crypto/sha1"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/sim"
)

// renamed returns a row with other names of clients, keys, tokens and scripts, and other text of scripts.
func renamed(text string) string {
	return strings.NewReplacer("c1", "c7", "c2", "c4", "c3", "c5", "job", "thing", "take", "renew", "steal", "release",
		"refuse", "acquire_script", " a ", " del ", " b ", " expire ", "KEYS[1]) ", "KEYS[1])  ").Replace(text)
}

// TestNamesDecideNothing: a run with other names has the same causes.
func TestNamesDecideNothing(t *testing.T) {
	for _, row := range rows {
		s, want := parsed(t, renamed(row.text)), parsed(t, row.text).want
		for i := range s.Commands { // the names of scripts in the record
			if c := &s.Commands[i]; c.Script != "" {
				c.Args[0] = c.Script
			}
		}
		for i, v := range explained(t, s, s.dispatched()) {
			if v.Cause != want[i] {
				t.Errorf("%s: %s: %s, want %s", row.what, v.Property, v.Cause, want[i])
			}
		}
	}
}

// TestTheTextOfAScriptDecidesNothing: a comment in a script changes its source and digest, but no cause.
func TestTheTextOfAScriptDecidesNothing(t *testing.T) {
	for _, row := range rows {
		s := parsed(t, row.text)
		rec := s.dispatched()
		other, digests := map[string]string{}, map[string]string{}
		for digest, source := range rec.Scripts {
			source = "-- name: release.lua\n" + source
			sum := sha1.Sum([]byte(source))
			digests[digest] = hex.EncodeToString(sum[:])
			other[digests[digest]] = source
		}
		rec.Scripts = other
		for i := range rec.Commands {
			rec.Commands[i].Script = digests[rec.Commands[i].Script]
		}
		for i, v := range explained(t, s, rec) {
			if v.Cause != s.want[i] {
				t.Errorf("%s: %s: %s, want %s", row.what, v.Property, v.Cause, s.want[i])
			}
		}
	}
}

// TestTheOrderOfLinesDecidesNothing: a record with its lines in any order has the same causes.
func TestTheOrderOfLinesDecidesNothing(t *testing.T) {
	for _, s := range corpus(t) {
		rec := s.recorded()
		rec.Ops, rec.Commands, rec.Faults = slices.Clone(rec.Ops), slices.Clone(rec.Commands), slices.Clone(rec.Faults)
		r := rand.New(rand.NewPCG(1, 1))
		r.Shuffle(len(rec.Ops), func(i, j int) { rec.Ops[i], rec.Ops[j] = rec.Ops[j], rec.Ops[i] })
		r.Shuffle(len(rec.Commands), func(i, j int) { rec.Commands[i], rec.Commands[j] = rec.Commands[j], rec.Commands[i] })
		r.Shuffle(len(rec.Faults), func(i, j int) { rec.Faults[i], rec.Faults[j] = rec.Faults[j], rec.Faults[i] })
		for i, v := range explained(t, s, rec) {
			if v.Cause != s.want[i] {
				t.Errorf("%s: %s: %s, want %s", s.name, v.Property, v.Cause, s.want[i])
			}
		}
	}
}

// BenchmarkVerdict explains every row, all of it: the order is searched for.
func BenchmarkVerdict(b *testing.B) {
	srv, err := sim.NewServer()
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Close()
	var stories []*story
	violations := 0
	for _, row := range rows {
		s, err := parse(row.text)
		if err != nil {
			b.Fatal(err)
		}
		stories = append(stories, s)
		violations += len(s.violations)
	}
	for b.Loop() {
		for _, s := range stories {
			findings(b, &checker.Verdict{Violations: slices.Clone(s.violations)}, s.Record, srv)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*violations), "µs/violation")
}
