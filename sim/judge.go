package sim

import (
	"context"
	"fmt"
	"io"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
)

// broken is one property that a schedule broke, and why.
type broken struct {
	Property history.Property `json:"property"`
	Cause    history.Cause    `json:"cause"`
	Story    []string         `json:"story,omitempty"`
}

// key is "property/cause".
func (b broken) key() string { return string(b.Property) + "/" + string(b.Cause) }

// excepted are the violations that no lock with a lease can prevent when its client stalls: they are counted and listed, and are
// no finding against the lock.
func (b broken) excepted() bool {
	if b.Cause != history.LeaseOverrun {
		return false
	}
	return b.Property == history.ExclusiveUse || b.Property == history.StoreIntegrity
}

// judge tells what an outcome broke. A panic, a deadlock and goroutines left behind are progress broken, too.
func judge(ctx context.Context, out Outcome, key string) ([]broken, error) {
	if out.Crash != "" {
		return []broken{{history.Progress, history.CauseUnknown, []string{out.Crash}}}, nil
	}
	v, err := check(ctx, out, key)
	if err != nil {
		return nil, err
	}
	var all []broken
	for _, x := range v.Violations {
		all = append(all, broken{x.Property, x.Cause, x.Story})
	}
	return all, nil
}

// Check judges an outcome with the package checker.
func (o Outcome) Check(ctx context.Context, opt checker.Options) (*checker.Verdict, error) {
	return checker.Check(ctx, checker.Input{
		Header: o.Header, Ops: &operations{o.Ops}, Commands: o.Commands, Faults: o.Windows,
	}, opt)
}

func check(ctx context.Context, out Outcome, key string) (*checker.Verdict, error) {
	opt := checker.Options{MaxViolations: 4, Budget: quickBudget}
	if out.Final != nil {
		opt.Store = map[string]checker.StoreEnds{key: {Initial: out.Initial, Final: out.Final}}
	}
	v, err := out.Check(ctx, opt)
	if err != nil {
		return nil, fmt.Errorf("judge a schedule: %w", err)
	}
	return v, nil
}

// quickBudget is what the second opinion may take for one schedule, in nanoseconds.
const quickBudget = 20_000_000

// operations is a history in memory.
type operations struct{ left []history.Operation }

var _ checker.Source = (*operations)(nil)

// Next gives the next operation.
func (s *operations) Next(op *history.Operation) error {
	if len(s.left) == 0 {
		return io.EOF
	}
	*op, s.left = s.left[0], s.left[1:]
	return nil
}
