// Package verdicts names the properties that a history is checked for, the causes of violations, and which of them a lock is expected to show in a
// scenario. It defines names and compares them; package checker defines the properties, package explain the experiments that find causes. It imports
// nothing of lockbench, so that locks, results and checkers share one vocabulary.
package verdicts

// Property is the name of a property that package checker checks.
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

// Cause is why a property was violated, found by experiments on the commands and fault windows.
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
	KeyDeleted     Cause = "key-deleted"   // an operator deleted it
	Eviction       Cause = "eviction"      // the server was out of memory
	Overbelief     Cause = "overbelief"    // the lock claimed a longer validity than the server kept the key
	LateRequest    Cause = "late-request"  // a request of the client's earlier attempt arrived late
	OwnRelease     Cause = "own-release"   // the client released before it was done
	CountExpired   Cause = "count-expired" // the key that counts the fences ended by itself
	Barging        Cause = "barging"       // the lock let a newcomer in ahead of a client that waited
	CauseUnknown   Cause = "unknown"
)
