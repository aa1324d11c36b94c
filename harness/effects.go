package harness

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockbench/lockbench/effects"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/workloads"
)

// mostSteps bounds the steps of the servers' logs that are kept in memory and joined to the
// commands: a step takes about a kilobyte.
const mostSteps = 500_000

// stepsOf reads the logs of a deployment while clients run, and keeps the steps, also in a file
// that survives this process.
type stepsOf struct {
	log  *servers.Log
	now  func() int64
	file *history.LoggedWriter // nil: not saved

	steps []history.Logged
	many  bool  // there were more than mostSteps
	err   error // of the last read
	save  error // of the file, the first
}

// newSteps returns the reader of the lock's servers; nil if they keep no log.
func (d *serverDriver) newSteps() *stepsOf {
	if log := d.servers.lock.Log(); log != nil {
		return &stepsOf{log: log, now: d.timeline, steps: []history.Logged{}}
	}
	return nil
}

// read reads what the servers have written since. It must come before the commands are written to a
// file, so that the commands of saved steps are, too.
func (s *stepsOf) read() {
	s.err = nil
	for node := range s.log.Nodes() {
		err := s.log.Read(node, func(e servers.Entry) {
			step := history.Logged{Node: node, At: s.now(), Effect: e.Effect, Kept: e.Kept, Log: e.Commands}
			if s.many = s.many || len(s.steps) == mostSteps; !s.many {
				s.steps = append(s.steps, step)
			}
			if s.file != nil {
				s.file.Add(&step)
			}
		})
		s.err = errors.Join(s.err, err)
	}
	if s.file != nil && s.save == nil {
		s.save = s.file.Flush()
	}
}

// effects joins the steps to the commands of a record. Without them the record says why.
func (d *serverDriver) effects(ctx context.Context, rec *record) {
	s := d.steps
	switch {
	case s == nil:
		return
	case s.err != nil:
		rec.notes = append(rec.notes, fmt.Sprintf("what the servers executed is not known: %v", s.err))
		return
	case s.many:
		rec.notes = append(rec.notes, fmt.Sprintf("what the servers executed was not joined to the commands: it has more than %d steps", mostSteps))
		return
	}
	var err error
	rec.Effects, err = effects.Join(context.WithoutCancel(ctx), effects.Record{Header: rec.Header, Commands: rec.Commands, Scripts: rec.Scripts, Faults: rec.Windows, Logs: s.steps, Skip: workloads.IsStore})
	if rec.source = history.AppendOnly; err != nil {
		rec.Effects = nil
		rec.notes = append(rec.notes, fmt.Sprintf("what the servers executed is not known: %v", err))
	}
}
