package sim

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// world is one run: nodes, clients, the network between them, and the driver that performs one
// event at a time.
type world struct {
	program  Program
	strategy Strategy
	bounds   Bounds
	virtual  // time, and the mutex that guards the fields below, clients and conns
	topology // of the nodes
	// of the scripts that clients send, by digest
	names   map[string]string
	sources map[string]string
	// what faults have put between clients and nodes
	cut           map[cutKey]bool
	dials         []waitingDial // that wait for the end of a cut
	slow          slowness
	noSubscribers int // number of faults in force that forbid subscribing

	stop     chan struct{}          // closed when no new round may begin
	bubble   atomic.Pointer[string] // the runtime's number of the bubble; nil until known
	turns    atomic.Uint64          // of the driver, to see from outside that it goes on
	echo     func(Choice)           // see Echo
	expected int                    // about how many commands all clients will send

	clients    []*client
	gone       bool // all clients have ended
	lastRounds bool // stop is closed

	conns []*conn          // in order of client, node, number
	past  map[uint64]*past // of the connections, by place
	fresh []*request       // sent, not yet seen by the driver
	sent  int              // commands, by all clients

	director *faults.Director

	step   int // of the schedule
	waits  int // how often the strategy has let time pass
	budget int // faults that the strategy may still place

	trace    trace
	effects  []effect // of the lock's nodes
	out      Outcome  // so far
	faultLog uint64   // hash of the faults so far, see state

	possible  []option // reused by options
	placeable []option // reused by faults
	content   []byte   // reused for the content of requests
}

// client is one client of a world: its goroutine, clock, connections and record. world.mu guards
// the fields that change once the goroutine runs.
type client struct {
	world    *world
	index    int
	name     string
	standing faults.Standing
	cancel   context.CancelFunc // of its last acquire; nil before the first

	paused        bool
	crashed       bool
	recordClosed  bool // its record is closed
	done          bool
	tokens        *tokens       // nil for a lock whose randomness comes from the seed
	dead          chan struct{} // closed when the client dies
	momentHolds   int           // number of faults that hold it at its moment
	blockedMoment chan struct{} // closed when it may go on from there; nil when nothing holds it
	// of goroutines that wait for the end of a pause, in order of arrival; closed one by one
	waitingForResume []chan struct{}
	moments          []*reachedMoment // moments that the driver has not looked at
	err              error            // what the workload returned
	sent             int              // number of commands so far
	asleep           int              // number of its goroutines that sleep by its clock
	messages         map[int]int      // number of messages to its subscribers so far, by node

	open          []history.Operation // begun, not yet added; innermost last
	ops           []history.Operation
	commands      []history.Command
	traced        int // how many of ops are in the trace
	commandsSince int // commands sent since its last operation returned, or since burstBegan
	burstBegan    time.Duration

	observed, observedNow uint64 // hashes of all that the client has received, and when: before an event, and at it
	observedStep          int    // that event's step
	order                 uint64 // hash of which operations of others had returned when its own were called
}

// conn is both ends of one simulated connection: the client's end is the net.Conn, the server's end
// is a session of a node; between them lie the requests and replies that the scheduler has not
// released. Nothing moves by itself, except the handshakes of Redis clients, which do not matter to
// locks.
//
// world.mu guards all fields: the client's goroutines read and write, the driver moves bytes.
type conn struct {
	world   *world
	client  *client
	node    int    // index of the address that was dialled
	number  uint64 // from client, node, and how many connections that client had to that node before
	server  *node  // the server that answered the dial
	session *fakeredis.Session
	frames  resp.Requests

	requests []*request // sent, not yet at the server
	replies  []*reply   // not yet at the client
	parked   *request   // at the server, which will answer later (WAIT, BLPOP)
	arrived  []byte     // at the client, not yet read

	opened  bool  // a command was sent that is not a handshake
	shut    bool  // closed by the client
	lost    error // why the connection broke; read once arrived is empty
	readBy  time.Time
	writeBy time.Time
	waiting bool          // a reader waits for bytes
	expires time.Time     // when it gives up; zero means never
	changed chan struct{} // cap 1: signals a change to a waiting reader
	alias   int           // of its requests in the record
	inUse   int           // requests without a reply; while there are any, the alias is taken
	last    uint64        // hash of the last request
	history uint64        // hash of the requests that the node received over it; see state
	watches bool          // the node watches keys for it
	seen    int           // number of the primary's writes at the connection's last command

	sentUntil, givenUntil time.Time // when a limited connection has passed what is on it, each way
}

// request is one command on its way.
type request struct {
	conn    *conn
	name    string
	args    []string
	op      faults.Operation // for which it was sent
	sent    int64            // on the timeline
	ready   int              // the step at which it became pending
	held    time.Time
	command int // index into the client's commands
	noted   int // its step in the schedule; 0 = none

	batch     *batch // nil for a request that was sent alone
	handshake bool   // a handshake, which is not an event
	withheld  bool   // the client was stopped before it left
	kept      bool   // held back until a fault ends
	doomed    bool   // it will be lost

	reply string // as text, if the request changed data

	answer   func(force bool) ([]byte, bool) // of a parked request
	parkedAt int64                           // on the timeline
	upTo     int                             // the write that a WAIT waits for
}

// reply is the reply to a request, or a message to a subscriber, whose request is nil.
type reply struct {
	conn    *conn
	request *request
	nth     int // of a message to a subscriber: its number among those that the client has had from the node
	bytes   []byte
	ready   int
	held    time.Time
	kept    bool // held back until a fault ends
	lost    bool // a fault has lost it
}

// batch holds the requests that goroutines of a client sent over one connection at one instant.
// Their order is the runtime's, so they reach the node in order of content, and their replies are
// delivered together, in the order in which the client wrote them.
type batch struct {
	written []*request // handshakes in between included
	replies []*reply   // to these, that have come
}

// past is what remains to be known of the connections between a client and a node.
type past struct {
	opened  uint64       // those that are left, too
	aliases map[int]bool // of those that ended before their replies came
}

// node is a server of a world: what a network and faults do to it, beside its data. The host reuses
// it. Only the driver calls a node.
type node struct {
	*fakeredis.Node
	index    int
	turn     uint64     // commands executed so far, handshakes excepted
	down     bool       // killed: connections are refused
	paused   bool       // nothing is answered
	kept     dataset    // of a killed node: the data with which it restarts
	had      dataset    // of a killed node: its data when it was killed
	waiting  []*request // blocked requests, the longest waiting first; some may be gone
	writes   int        // of a primary and those before it, so far
	changes  uint64     // hash of the commands that changed data, in order; used by states only
	recorded int64      // when the last recorded effect was
}

// dataset is a copy of all data of a node.
type dataset struct {
	data fakeredis.Data
	turn uint64 // of the last command or deletion that the node had executed
}

// topology is the nodes of a world, and which is whose primary.
type topology struct {
	nodes []*node // the lock's, replicas included; then the guarded store's
	addrs []string
	roles []int // by the number of a node of the lock, where its address leads; a failover exchanges two
	links []link
}

// link is the stream from a primary to a replica, which copies all data anew, even none, whenever
// one of the two has restarted. Of several links of a primary, a failover promotes the replica of
// the first.
type link struct {
	primary *node
	replica *node
	stream  []update // on its way, oldest first
	ready   int
	applied int    // how many of the primary's writes the replica has
	taken   int    // how many updates it has applied
	turn    uint64 // the last command whose effect the replica has
	apart   bool   // one of the two was killed, and the replica has not copied everything since: WAIT does not count it
	cut     bool   // a failover is under way: the replica receives nothing more
}

type update struct {
	dataset
	write int
	whole bool // applying it brings a reconnected replica into sync
}

// effect is what a node did, as the world records it: the rest of a command's line is in its
// record.
type effect struct {
	history.Executed
	turn uint64 // of the command; 0: there is none, or it has no record
}

type reachedMoment struct {
	faults.Event
	pass chan struct{} // closed when the client may go on; nil if nothing is placed at the moment
}

// option is one thing that could happen next.
type option struct {
	kind  optionKind
	conn  *conn
	fault *placeableFault
	ready int // the step at which it became possible; the default is the oldest
	rank  int // among the options of its kind between one client and one node, by content
	// its message in a world outside, where an event is named only by its step; nil in the
	// simulator
	held    *faults.Held
	replica int // that takes over a write
	nth     int // number of the write that is replicated; in an event also of a message to a subscriber
}

// placeableFault is a fault that a strategy may place now.
type placeableFault struct {
	spec   faults.Spec
	target string // a client or a node; "" for a message, and for the only target
	event  event  // of the message that it affects; zero for other faults
}

// event identifies an option as tapes name it: by client, node, command, and the number of that
// command among the client's to that node. It includes neither the time nor the connection: the
// runtime decides which of a client's goroutines gets which connection of a pool.
type event struct {
	option
	request *request // that is delivered or answered; nil for a message to a subscriber
}

// moves is what could happen at one step.
type moves struct {
	step    int
	options []option // at least one; requests, replies, replication
	wait    bool     // time may pass instead
	view
}

// view has what a strategy requests only when it needs it.
type view interface {
	faults() []option              // those that may be injected instead; empty when no more are allowed
	state() (hash uint64, ok bool) // of the world; ok is false if it cannot be hashed
	traceHash() uint64             // hash of what has happened so far
}

// Strategy picks what happens next in a schedule. Each runs one schedule.
type Strategy interface {
	choose(m moves) option
}

// Choice is a choice other than the default. It names events, not positions: it stays valid when
// something else happens besides, as one more handshake.
type Choice struct {
	// the event that the default would have chosen, such as "request c1-n1 SET#2"
	Before string `json:"before,omitempty"`
	// the event that was chosen, named alike, or a fault, such as "pause-client c1 1.5s"
	Do string `json:"do"`
	// in a tape of a world outside the simulator, instead of Before: the step, from 0
	At int `json:"at,omitempty"`
}

// Loop is what a client repeats without end in one operation.
type Loop struct {
	Client   string
	Sent     int           // commands
	In       time.Duration // which they took
	Commands []history.Command
}

// Outcome is the result of one schedule.
type Outcome struct {
	history.Recorded // a caller that keeps its Scripts copies them
	Windows          []history.Window
	Effects          []history.Executed           // what changed data at the lock's nodes, by time
	Store            map[string]checker.StoreEnds // the guarded store before and after, by key
	Steps            int                          // events that the scheduler released
	Virtual          time.Duration                // duration in virtual time
	// of that, what the strategy let pass while messages were on their way
	Waited   time.Duration
	Hash     uint64          // of the trace
	Trace    []string        // if requested
	Schedule faults.Schedule // if requested
	Program  Program         // that was run, resolved
	tape     []func() Choice // whose names are made when they are needed
	Missed   int             // choices of a tape that were not possible
	Pruned   bool            // abandoned early: its state was known
	Stuck    []string        // clients that had not ended at the horizon
	Crash    string          // a panic of a client, or clients that never end, with the stack
	Left     string          // goroutines that the lock left behind for ever

	Lacking string // what the lock's connections requested and the simulator lacks, such as CLIENT TRACKING
	// the lock holds a mutex during a request, as Crash says: not a finding, but it ends the search
	Unexplorable bool
	Loop         *Loop
	// a goroutine goes on for ever while no time passes, as Crash says: it takes processor time until
	// the process ends
	Endless bool
	Errors  []string // of the workloads, by client, except for placed crashes
}

type cutKey struct{ client, node int }

// waitingDial is a goroutine that waits to dial again.
type waitingDial struct {
	since        time.Duration
	client, node int
	turn         chan struct{}
}

// slowness is the effect of a slow network on messages. Only one is in force at a time; see
// [faults.Director].
type slowness struct {
	delay time.Duration
	rate  float64 // bytes per second; 0 means unlimited
}
