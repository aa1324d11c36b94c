package history

// Property is the name of a property that the package checker checks.
type Property string

// The properties.
const (
	MutualExclusion Property = "mutual-exclusion"
	ExclusiveUse    Property = "exclusive-use"
	StoreIntegrity  Property = "store-integrity"
	ReleaseSafety   Property = "release-safety"
	Linearizability Property = "linearizability"
	FencingOrder    Property = "fencing-order"
	Progress        Property = "progress"
	Refusal         Property = "refusal"
	Reentrancy      Property = "reentrancy"
	Renewal         Property = "renewal"
	Fairness        Property = "fairness"
	Hygiene         Property = "hygiene"
)

// Cause is why a property was violated, found from commands and fault windows.
type Cause string

// The causes.
const (
	LeaseOverrun   Cause = "lease-overrun"
	MisUnlock      Cause = "mis-unlock"
	DoubleGrant    Cause = "double-grant"
	ReaderEvicted  Cause = "reader-evicted"
	StaleReentry   Cause = "stale-reentry"
	FailoverLoss   Cause = "failover-loss"
	RestartLoss    Cause = "restart-loss"
	ClockJump      Cause = "clock-jump"
	ClockSkew      Cause = "clock-skew"
	NoExpiry       Cause = "no-expiry"
	NeverGranted   Cause = "never-granted"
	AmbiguousReply Cause = "ambiguous-reply"
	RenewalGap     Cause = "renewal-gap"
	Resurrection   Cause = "resurrection"
	LostWakeup     Cause = "lost-wakeup"
	Orphan         Cause = "orphan"
	QuorumErosion  Cause = "quorum-erosion"
	KeyDeleted     Cause = "key-deleted"  // an operator deleted it
	Eviction       Cause = "eviction"     // the server was out of memory
	Overbelief     Cause = "overbelief"   // the lock claimed a longer validity than the server kept the key
	LateRequest    Cause = "late-request" // a request of the client's earlier attempt arrived late
	OwnRelease     Cause = "own-release"  // the client released before it was done
	CauseUnknown   Cause = "unknown"
)

// Moment is a named step of a client at which a fault can be placed.
type Moment string

// The moments that clients announce, in the order of one round.
const (
	Calling       Moment = "calling"        // about to acquire
	Granted       Moment = "granted"        // the acquire returned and the client knows it holds
	Refused       Moment = "refused"        // the acquire returned without a grant
	Entered       Moment = "entered"        // inside the critical section, the store has been read
	BeforeRelease Moment = "before-release" // out of the section, about to release
	Released      Moment = "released"       // the release returned
)
