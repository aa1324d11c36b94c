// Package tapefuzz_test fuzzes the reader of tapes. It is apart from the tests of package sim,
// whose locks and servers a build for fuzzing would have to instrument as well.
package tapefuzz_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/sim"
)

// FuzzReadTape: a tape of any contents is read or refused; what is read is written and read back
// the same.
func FuzzReadTape(f *testing.F) {
	f.Add([]byte(`{"schema":"lockbench/tape/v2","program":{"lock":"token"},"choices":[],"property":"progress","cause":"unknown"}`))
	f.Add([]byte(`{"schema":"lockbench/tape/v2","choices":[null],"schedule":[{}],"property":"progress","cause":"unknown"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tape, err := sim.ReadTape(bytes.NewReader(data))
		if err != nil {
			return
		}
		var first, second strings.Builder
		if _, err := tape.WriteTo(&first); err != nil {
			t.Fatal(err)
		}
		back, err := sim.ReadTape(strings.NewReader(first.String()))
		if err != nil {
			t.Fatalf("%v:\n%s", err, &first)
		}
		if _, err := back.WriteTo(&second); err != nil || first.String() != second.String() {
			t.Errorf("%v: written as\n%s\nand then as\n%s", err, &first, &second)
		}
	})
}
