package results

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzGates: the text of a parsed gate parses to the same gate.
func FuzzGates(f *testing.F) {
	f.Add("acquire.p99<=20ms")
	f.Add("errors>1%")
	f.Add("throughput=1e3")
	f.Fuzz(func(t *testing.T, text string) {
		if g, err := ParseGate(text); err == nil {
			if back, err := ParseGate(g.Text); err != nil || back != g {
				t.Errorf("%q is %+v, written as %q and read back as %+v, %v", text, g, g.Text, back, err)
			}
		}
		if _, err := ParseBound(text, true); err == nil && !strings.Contains(text, "=") {
			t.Errorf("%q was taken for a bound", text)
		}
	})
}

func FuzzShard(f *testing.F) {
	f.Add("3/8")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseShard(text)
		if err != nil {
			return
		}
		if back, err := ParseShard(s.String()); err != nil || back != s || s.Index < 1 || s.Index > s.Count {
			t.Errorf("%q is %+v, read back as %+v, %v", text, s, back, err)
		}
	})
}

// FuzzStored: a stored record of any contents is read or refused, and a suite that is read can be
// judged, merged and compared.
func FuzzStored(f *testing.F) {
	for _, seed := range []string{
		`{"schema":"lockbench/suite/v1","verdict":"pass","cells":[{"lock":"token","scenario":"steady","expected":"safe","observed":"safe","verdict":"pass"}]}`,
		`{"schema":"lockbench/bench/v1","cells":[{"lock":"token"}]}`,
		`{"schema":"lockbench/suite/v1","cells":[null,{"properties":{"":""}}],"shard":{"index":-1,"count":0}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "stored.json")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := LoadSuite(path); err == nil {
			s.Judge()
			s.Against(s, true)
			_, _ = MergeSuites([]Suite{s, s}) // an error is fine
		}
		_, _ = LoadBench(path)
	})
}
