// Package verdicts names the properties that a history is checked for, the causes of violations,
// and those that a lock is expected to show in a scenario. It only defines and compares names:
// package checker defines the properties, and package explain the experiments that find causes. It
// imports no other package of lockbench, so that locks, results and the checker share one
// vocabulary.
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
	Hygiene         Property = "hygiene" // only of explored schedules
)

// Properties returns all properties.
func Properties() []Property {
	return []Property{MutualExclusion, ExclusiveUse, StoreIntegrity, ReleaseSafety, Linearizability, FencingOrder, Progress, Refusal, Reentrancy, Renewal,
		Fairness, Hygiene}
}

// Cause is why a property was violated.
type Cause string

// The causes.
const (
	LeaseOverrun   Cause = "lease-overrun"
	MisUnlock      Cause = "mis-unlock"
	DoubleGrant    Cause = "double-grant"
	ReaderEvicted  Cause = "reader-evicted"
	StaleReentry   Cause = "stale-reentry"
	FailoverLoss   Cause = "failover-loss"
	SplitBrain     Cause = "split-brain" // two servers were primaries, and each granted
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
	LateRequest    Cause = "late-request"  // a request of an earlier attempt of the client arrived late
	OwnRelease     Cause = "own-release"   // the client itself had released it
	CountExpired   Cause = "count-expired" // the key that counts the fences expired
	FenceReused    Cause = "fence-reused"  // a grant did not count, so that the next had the same fence
	NoUnlock       Cause = "no-unlock"     // a release reached the server and left the hold's mark there
	Barging        Cause = "barging"       // the lock granted a newcomer before a waiting client
	CauseUnknown   Cause = "unknown"
)

// Causes returns all causes.
func Causes() []Cause {
	return []Cause{LeaseOverrun, MisUnlock, DoubleGrant, ReaderEvicted, StaleReentry, FailoverLoss, SplitBrain, RestartLoss, ClockJump, ClockSkew, NoExpiry, NeverGranted,
		AmbiguousReply, RenewalGap, Resurrection, LostWakeup, Orphan, QuorumErosion, KeyDeleted, Eviction, Overbelief, LateRequest, OwnRelease, CountExpired,
		FenceReused, Barging, NoUnlock, CauseUnknown}
}
