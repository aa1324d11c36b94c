package harness

import (
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/workloads"
)

// A client process is told its job on standard input, one JSON object a line, and tells what it does on standard output, likewise.
// The end of its input is its end: it does not outlive the run.

// order is a line to a client process. The first is its job.
type order struct {
	Job    *job    `json:"job,omitempty"`
	Answer *answer `json:"answer,omitempty"`
	Stop   bool    `json:"stop,omitempty"`   // begin no new round
	Cancel bool    `json:"cancel,omitempty"` // the acquire under way
}

// answer is what the run says to news that the client waits on.
type answer struct {
	To    uint64 `json:"to"`              // Ask of the news
	Addr  string `json:"addr,omitempty"`  // of a dial: where to connect
	Error string `json:"error,omitempty"` // of a dial: why there is nothing to connect to
}

// job is everything a client process has to know.
type job struct {
	Variant  string           `json:"variant"`
	Topology impls.Topology   `json:"topology"`
	Workload string           `json:"workload"`
	Config   workloads.Config `json:"config"`
	Index    int              `json:"index"`
	Clients  int              `json:"clients"`
	Owner    string           `json:"owner,omitempty"`
	Prefix   string           `json:"prefix"`
	PollNS   int64            `json:"poll_ns"`
	Permits  int              `json:"permits"`
	Addrs    []string         `json:"addrs"`
	Seed     uint64           `json:"seed"`
	SkewNS   int64            `json:"skew_ns,omitempty"`
	Rate     float64          `json:"rate,omitempty"`
	LeaseNS  int64            `json:"lease_ns"`
	Faults   []faults.Spec    `json:"faults,omitempty"`
	Base     int64            `json:"base"`           // the run's base on the machine's monotonic clock
	Wait     bool             `json:"wait,omitempty"` // at every moment, until the run has heard of it
}

// news is a line from a client process. Exactly one field but At and Ask is set; At is the time on the run's base. The client goes
// on when news with an Ask is answered: what is placed at an event is in force by then. Moments are events; a message is one where the
// trigger of a fault matches it.
type news struct {
	At       int64              `json:"at"`
	Ask      uint64             `json:"ask,omitempty"` // counts from 1; 0 = nobody waits
	Dial     *dialling          `json:"dial,omitempty"`
	Begin    *history.Operation `json:"begin,omitempty"`
	Op       *history.Operation `json:"op,omitempty"`
	Observed *observed          `json:"observed,omitempty"`
	Command  *history.Command   `json:"command,omitempty"`
	Script   *history.Script    `json:"script,omitempty"` // the source of one that the client sends
	Event    *faults.Event      `json:"event,omitempty"`  // at which a fault may be placed
	ClockGap int64              `json:"clock_gap,omitempty"`
	Failed   string             `json:"failed,omitempty"`
	Lacks    bool               `json:"lacks,omitempty"` // with Failed: the server has not got what the lock needs
	Done     bool               `json:"done,omitempty"`
}

// dialling asks for a way to a node or to the guarded store.
type dialling struct {
	Addr   string `json:"addr"`             // that means it, see nodeAddr
	Within int64  `json:"within,omitempty"` // nanoseconds that the client has for it; 0 = no limit
}

// observed is a latency: what was done, when it was meant to start, when it was called and when it returned.
type observed struct {
	Op       history.Op      `json:"op"`
	Outcome  history.Outcome `json:"outcome"`
	Intended int64           `json:"intended"`
	Call     int64           `json:"call"`
	Return   int64           `json:"return"`
}
