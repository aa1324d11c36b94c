package sim

import (
	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
)

// Explain finds the causes of a verdict's violations from the record that it was reached on, on a simulated node. The error is that of the
// server inside.
func Explain(v *checker.Verdict, rec explain.Record) error {
	if len(v.Violations) == 0 {
		return nil
	}
	srv, err := NewServer()
	if err != nil {
		return err
	}
	defer srv.Close()
	explain.Verdict(v, rec, srv)
	return nil
}
