package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/faults/inject"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/subject"
)

// Live lets a search run schedules with real children and servers (package search). Each has its
// own keys; all but killed children are reused.
type Live struct {
	Experiment
	servers    *deployment
	children   childProcesses
	clockError int64
	runs       int
}

// OpenLive starts the servers and the children of an experiment with a Subject. Its Scenario sets
// the topology and the maximum number of clients.
func OpenLive(ctx context.Context, e Experiment) (l *Live, err error) {
	if err := e.validateSubject(); err != nil {
		return nil, err
	}
	l = &Live{Experiment: e}
	if l.servers, err = e.startServers(ctx); err != nil {
		return nil, err
	}
	if l.children, l.clockError, err = e.startChildren(ctx); err != nil {
		err = errors.Join(err, l.Close())
		return nil, err
	}
	return l, nil
}

// Close ends the children and the servers.
func (l *Live) Close() error {
	err := errors.Join(l.children.close(), l.servers.close())
	if log := l.servers.lock.Log(); log != nil {
		err = errors.Join(err, log.Close())
	}
	return err
}

// Run runs a program once, in the order that lead chooses.
func (l *Live) Run(ctx context.Context, p sim.Program, lead *sim.Lead) (out sim.Outcome, err error) {
	e := l.Experiment
	s := OfTape(sim.Tape{Program: p})
	s.Faults = p.Faults
	e.Scenario, e.Seed = s.Resolve(p.Seed, p.Topology), p.Seed
	l.runs++
	e.Prefix += fmt.Sprintf("s%d:", l.runs)
	d := newServerDriver(e)
	d.servers, d.clockError = l.servers, l.clockError
	if err = d.prepare(ctx); err != nil {
		return out, err
	}
	if d.children, err = l.crew(ctx, p.Clients); err != nil {
		return out, err
	}
	if d.steps = d.newSteps(); d.steps != nil { // what earlier schedules did is none of this one's
		d.steps.read()
		d.steps.steps = nil
	}
	sequencer := inject.NewSequencer(d.next(lead), d.timeline)
	d.leader = sequencer
	if err = d.arm(ctx); err == nil {
		err = d.runClients(ctx)
	}
	err = errors.Join(err, d.disarm())
	d.ended = d.timeline()
	if err != nil {
		return out, err
	}
	if d.steps != nil {
		d.steps.read()
	}
	rec, err := d.record(ctx, nil)
	if err == nil {
		err = d.audit(ctx, rec)
	}
	if err != nil {
		return out, err
	}
	took := time.Duration(rec.ended)
	return sim.Outcome{Recorded: rec.Recorded, Windows: rec.Windows, Effects: rec.Effects, Steps: sequencer.Steps(), Virtual: took, Waited: took, Schedule: sequencer.Schedule(), Store: rec.Store}, nil
}

// crew returns the children of the next run: the existing ones, with new ones in place of those
// that have ended.
func (l *Live) crew(ctx context.Context, clients int) (childProcesses, error) {
	for i, c := range l.children {
		if !c.Ended() {
			continue
		}
		if err := errors.Join(c.Close(), l.startChild(ctx, c, i)); err != nil {
			return nil, err
		}
	}
	crew := make(childProcesses, clients)
	for i := range crew {
		crew[i] = &child{Child: l.children[i].Child, sent: map[int]int64{}}
	}
	return crew, nil
}

func (d *serverDriver) next(lead *sim.Lead) inject.Next {
	return func(step int, held []faults.Held, last bool) (faults.Turn, bool) {
		s := sim.Scene{Step: step, Held: held}
		for client := 1; client <= d.Scenario.Clients; client++ {
			if !d.director.Gone(client) {
				s.Clients = append(s.Clients, client)
			}
		}
		return lead.Next(s, last)
	}
}

// LiveFaults returns those of the faults that a search can place with such children.
func LiveFaults(names []string, child subject.Description) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		kind, _ := faults.FindKind(name)
		switch {
		case kind.Does.Any(history.SkewsClient), kind.Does.Any(history.CancelsCall) && !child.Has(subject.CanCancel):
			return true
		}
		return kind.On != faults.OneClient && (kind.Harms || !kind.OnNode())
	})
}

// LiveProgram converts the simulator's small program for a search in real time: with a short lease
// and without persistence.
func LiveProgram(p sim.Program, lease time.Duration) sim.Program {
	p = p.WithLease(lease)
	if p.Load == "counter" {
		p.Load, p.Workload = "hot", nil
	}
	return p
}
