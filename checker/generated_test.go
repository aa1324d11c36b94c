package checker_test

import (
	"io"
	"strconv"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// synthetic describes a history of one lock that clients hold in turn.
type synthetic struct {
	Ops      int  // number of operations; the last round is completed, so there may be a few more
	Clients  int  // at least 2; 0 means 64
	Refusals bool // clients try while one holds, and are refused; otherwise each waits in one long acquire
	Illegal  bool // in every 500th round, from the 50th on, the next client is granted the lock before the release
}

// Times of one round, in nanoseconds.
const (
	lease    = 10_000_000_000
	round    = 10_000 // from one grant to the next
	grant    = 300    // an acquire that does not wait
	held     = 8_000  // from the grant to the call of the release
	release  = 200
	refused  = 150  // a refusal
	early    = 3000 // from an illegal grant to the release
	busy     = 6    // refusals per round
	badRound = 500
	firstBad = 50
)

// generated generates a history as it is read, in constant memory: no lock is run. It is a
// checker.Source.
type generated struct {
	config  synthetic
	names   []string
	made    int
	rounds  int
	pending []history.Operation // the current round, ordered by return
	next    int
}

// newGenerated returns a source of what is described.
func newGenerated(c synthetic) *generated {
	if c.Clients == 0 {
		c.Clients = 64
	}
	s := &generated{config: c}
	for i := range c.Clients {
		s.names = append(s.names, "c"+strconv.Itoa(i+1))
	}
	return s
}

// Header returns the header of the history.
func (s *generated) Header() history.Header {
	return history.Header{Lock: "synthetic", Kind: history.Mutex, Lease: lease, Permits: 1}
}

// Violations returns how many overlaps of beliefs the operations read so far contain.
func (s *generated) Violations() int {
	if !s.config.Illegal || s.rounds <= firstBad {
		return 0
	}
	return 1 + (s.rounds-1-firstBad)/badRound
}

// Next generates the next operation; io.EOF after the last.
func (s *generated) Next(op *history.Operation) error {
	if s.next == len(s.pending) {
		if s.made >= s.config.Ops {
			return io.EOF
		}
		s.makeRound()
	}
	*op = s.pending[s.next]
	s.next++
	s.made++
	op.ID, op.Key = uint64(s.made), "job"
	return nil
}

// makeRound generates one hold and the refusals during it.
func (s *generated) makeRound() {
	s.pending, s.next = s.pending[:0], 0
	at := int64(s.rounds) * round
	holder := s.names[s.rounds%len(s.names)]
	returned := at + grant
	if s.config.Illegal && s.rounds%badRound == firstBad {
		returned = at - (round - grant - held) - early
	}
	call := returned - grant
	if waited := s.rounds - len(s.names) + 1; !s.config.Refusals && waited > 0 {
		call = int64(waited) * round // it has queued since its last release
	}
	token := "t" + strconv.Itoa(s.rounds)
	s.add(history.Operation{Client: holder, Op: history.Acquire, Call: min(call, returned), Return: returned, Outcome: history.OK,
		Token: token, ValidUntil: returned + lease})
	if s.config.Refusals {
		for i := range busy {
			from := at + grant + 1 + int64(i+1)*refused
			client := s.names[(s.rounds+1+i)%len(s.names)]
			if client != holder {
				s.add(history.Operation{Client: client, Op: history.Acquire, Call: from, Return: from + refused - 1, Outcome: history.Busy})
			}
		}
	}
	s.add(history.Operation{Client: holder, Op: history.Release, Call: at + grant + held, Return: at + grant + held + release, Outcome: history.OK, Token: token})
	s.rounds++
}

func (s *generated) add(op history.Operation) { s.pending = append(s.pending, op) }

// TestGeneratedViolations: the checker finds exactly the generated violations.
func TestGeneratedViolations(t *testing.T) {
	for _, c := range []synthetic{
		{Ops: 20_000}, {Ops: 20_000, Refusals: true}, {Ops: 20_000, Illegal: true}, {Ops: 20_000, Refusals: true, Illegal: true},
		{Ops: 5000, Clients: 3, Refusals: true, Illegal: true},
	} {
		src := newGenerated(c)
		v, err := checker.Check(t.Context(), checker.Input{Header: src.Header(), Ops: src}, checker.Options{})
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		for _, p := range v.Properties {
			want := 0
			if p.Name == verdicts.MutualExclusion {
				want = src.Violations()
			}
			if p.Name != verdicts.Linearizability && p.Violations != want {
				t.Errorf("%+v: %s: %d violations, want %d", c, p.Name, p.Violations, want)
			}
			if p.Name == verdicts.Linearizability && (p.Violations > 0) != c.Illegal {
				t.Errorf("%+v: %d windows without an order", c, p.Violations)
			}
		}
		if c.Illegal && src.Violations() == 0 {
			t.Errorf("%+v: no violation was generated", c)
		}
	}
}
