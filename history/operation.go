package history

// Kind is the kind of a lock; it decides which overlapping holds conflict.
type Kind string

// The kinds of lock.
const (
	Mutex     Kind = "mutex"     // one holder, not re-entrant
	Reentrant Kind = "reentrant" // one holder, which may acquire again
	RW        Kind = "rw"        // many shared holders or one exclusive
	Semaphore Kind = "semaphore" // at most Permits holders
)

var kinds = [...]string{string(Mutex), string(Reentrant), string(RW), string(Semaphore)}

// Header is the first line of a history file.
type Header struct {
	Lock  string `json:"lock"` // name of the lock, for people
	Kind  Kind   `json:"kind"`
	Lease int64  `json:"lease" is:"duration"` // nanoseconds; 0 = never expires
	// nanoseconds that the lock subtracts from every claimed validity
	Drift      int64 `json:"drift" is:"duration"`
	Permits    int   `json:"permits" is:"permits"`      // for semaphores; 1 otherwise
	ClockError int64 `json:"clock_error" is:"duration"` // nanoseconds by which two recorders' clocks may disagree
	// Votes reports that a lock may refuse an attempt because of another attempt, not because of a
	// holder: the nodes' votes split, or attempts queue. A refusal is then correct even if no
	// client holds the lock.
	Votes bool `json:"votes,omitempty"`
	// Wakeups reports that the lock notifies waiters when it becomes free.
	Wakeups bool `json:"wakeups,omitempty"`
	// FIFO reports that the lock is granted in the order of arrival.
	FIFO bool `json:"fifo,omitempty"`
	// LeaseFromAsking reports that the lease of a hold counts from the client's last request, which
	// may precede the grant: the hold may expire as soon as the client has the grant.
	LeaseFromAsking bool `json:"lease_from_asking,omitempty"`
	// NeedsReplica reports that the lock grants only what a replica has confirmed: after a
	// failover, which leaves the new primary without a replica, no grant can be expected.
	NeedsReplica bool `json:"needs_replica,omitempty"`
	// Copies reports that the nodes are copies of one, of which one at a time should be the
	// primary.
	Copies bool `json:"copies,omitempty"`
	// Quorum is the number of nodes that must grant the lock; 0 = one node decides.
	Quorum int `json:"quorum,omitempty" is:"quorum"`
	// Renews reports that the lock promises to renew its leases while their client runs.
	Renews bool `json:"renews,omitempty"`
	// Epoch is the wall-clock time of the run's base, in nanoseconds since 1970; 0 = not known.
	// Absolute times in commands refer to it.
	Epoch int64 `json:"epoch,omitempty"`
}

// Op is the kind of an operation.
type Op uint8

// The operations. Use spans the critical section; Write goes to the guarded store; Lost is when the
// lock notified its owner of a lost hold.
const (
	OpInvalid Op = iota
	Acquire
	Extend
	Release
	Use
	Write
	Lost
)

var opNames = [...]string{"invalid", "acquire", "extend", "release", "use", "write", "lost"}

// String returns the name used in files.
func (o Op) String() string { return opNames[min(int(o), len(opNames)-1)] }

// Mode is shared or exclusive.
type Mode uint8

// The modes; the zero value is Exclusive.
const (
	Exclusive Mode = iota
	Shared
)

// String returns the name used in files.
func (m Mode) String() string { return modeNames[min(int(m), len(modeNames)-1)] }

var modeNames = [...]string{Exclusive: "exclusive", Shared: "shared"}

// Outcome is how an operation ended.
type Outcome uint8

// The outcomes. None is for operations that have none (use, lost).
const (
	None     Outcome = iota
	OK               // it took effect
	Busy             // acquire: held by another
	NotHeld          // release, extend: refused, the caller does not hold
	LostHold         // extend: refused, the hold had been lost
	Rejected         // write: the store refused a stale fence
	Fail             // definitely no effect
	Unknown          // it may have taken effect, then or later
)

var outcomeNames = [...]string{"", "ok", "busy", "not_held", "lost", "rejected", "fail", "unknown"}

// String returns the name used in files; empty for None.
func (o Outcome) String() string { return outcomeNames[min(int(o), len(outcomeNames)-1)] }

// Operation is one line of a history. Call and Return are nanoseconds on the run's monotonic base;
// the interval is closed. Return of an unknown outcome is when the client gave up.
type Operation struct {
	ID          uint64
	Client      string
	Op          Op
	Key         string
	Mode        Mode
	ModeNamed   bool  // use, release, extend, lost: the mode Exclusive was recorded, not defaulted
	Asked       int64 // acquire: when the granted attempt began, within [Call, Return]; 0 = not known, see WasAsked
	AskedAtZero bool  // Asked is known, and 0
	Call        int64
	Return      int64
	Outcome     Outcome
	Token       string // "" where the lock has no unique tokens
	ValidUntil  int64  // 0 = the lock gave none; math.MaxInt64 = until it notifies of a loss
	Fence       uint64 // 0 = none
	HasValue    bool   // Read and Wrote are set
	Read        int64  // write: the value the client had read before
	Wrote       int64  // write: the value it stored
	Versioned   bool   // ReadVersion is set
	ReadVersion uint64 // write: the version of the store that the client had read; 0 = nothing was written yet
	// write: the version that it made; the store counts accepted writes of a key from 1; 0 = not
	// known
	Version uint64
	Err     string // text of the error, for people; the checker ignores it
}

// SetAsked sets Asked, which may be 0.
func (op *Operation) SetAsked(at int64) { op.Asked, op.AskedAtZero = at, at == 0 }

// WasAsked reports whether Asked is known.
func (op *Operation) WasAsked() bool { return op.Asked != 0 || op.AskedAtZero }

// Granted reports whether the operation is an acquire that succeeded.
func (op *Operation) Granted() bool { return op.Op == Acquire && op.Outcome == OK }
