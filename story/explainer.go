package story

import (
	"context"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
)

// Explainer finds the causes of violations on an embedded server, and tells them. It starts the
// server when first needed: a start takes as long as a short record. The zero value is ready; the
// caller closes it.
type Explainer struct{ server *fakeredis.Server }

// Close ends the server.
func (x *Explainer) Close() {
	if x.server != nil {
		x.server.Close()
	}
}

func (x *Explainer) start() (err error) {
	if x.server == nil {
		x.server, err = fakeredis.New()
	}
	return err
}

// Explain finds the causes of a verdict's violations, and adds their stories unless the check was
// bare. Errors are miniredis' and the context's.
func (x *Explainer) Explain(ctx context.Context, v *checker.Verdict, rec explain.Record) (found explain.Findings, err error) {
	if len(v.Violations) == 0 {
		return explain.Findings{}, nil
	}
	if err := x.start(); err != nil {
		return found, err
	}
	if found, err = explain.Verdict(ctx, v, rec, x.server); err != nil {
		return found, err
	}
	Tell(v, found, rec.Commands)
	return found, nil
}

// Derive works out what the commands of a record changed, for a record without effects. An error is
// miniredis'.
func (x *Explainer) Derive(ctx context.Context, rec explain.Record) ([]history.Executed, error) {
	if err := x.start(); err != nil {
		return nil, err
	}
	return explain.Derive(ctx, rec, x.server), nil
}
