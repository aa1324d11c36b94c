package history

// Property is the name of something a history is judged for. The definitions are in package checker.
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

// Cause is why a property was violated, attributed from commands and fault windows.
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
	Overbelief     Cause = "overbelief"   // the client had been told longer than the server kept it
	LateRequest    Cause = "late-request" // the client's own, of an earlier attempt
	OwnRelease     Cause = "own-release"  // the client's own, before it was done
	CauseUnknown   Cause = "unknown"
)
