package judge

import (
	"context"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/story"
)

// Explainer checks and explains records on one embedded server, which it starts when first needed:
// a start takes as long as a short record. The zero value is ready; the caller closes it.
type Explainer struct{ server *Server }

// Close ends the server.
func (x *Explainer) Close() {
	if x.server != nil {
		x.server.Close()
	}
}

func (x *Explainer) start() (err error) {
	if x.server == nil {
		x.server, err = NewServer()
	}
	return err
}

// Check judges the properties of a record, and finds the causes and stories of its violations.
// Errors are of a record that contradicts itself, of miniredis, and of ctx; none is a verdict.
func (x *Explainer) Check(ctx context.Context, rec Record, opt checker.Options) (*checker.Verdict, explain.Findings, error) {
	opt.Store = rec.Store
	v, err := checker.Check(ctx, checker.Input{Header: rec.Header, Ops: history.NewSlice(rec.Ops), Commands: rec.Commands, Faults: rec.Windows, Effects: rec.Effects}, opt)
	if err != nil {
		return v, explain.Findings{}, err
	}
	found, err := x.Explain(ctx, v, rec.explained())
	return v, found, err
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
	story.Tell(v, found, rec.Commands)
	return found, nil
}

// Derive works out what the commands of a record changed, for a record without effects. An error is
// miniredis'.
func (x *Explainer) Derive(ctx context.Context, rec Record) ([]history.Executed, error) {
	if err := x.start(); err != nil {
		return nil, err
	}
	return explain.Derive(ctx, rec.explained(), x.server), nil
}

func (rec Record) explained() explain.Record {
	return explain.Record{Header: rec.Header, Ops: rec.Ops, Commands: rec.Commands, Scripts: rec.Scripts, Faults: rec.Windows, Effects: rec.Effects}
}
