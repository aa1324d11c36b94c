package expect

import "slices"

// Overrun is what a client that works past its lease causes.
func Overrun() []string {
	return []string{"exclusive-use/lease-overrun", "store-integrity/lease-overrun"}
}

// misUnlock is what a release of another client's hold causes.
func misUnlock() []string {
	return []string{"mutual-exclusion/mis-unlock", "release-safety/mis-unlock"}
}

// misUnlockDamage is what may follow a mis-unlock.
func misUnlockDamage() []string {
	return []string{"exclusive-use/mis-unlock", "store-integrity/mis-unlock"}
}

// AnyMisUnlock returns misUnlock and misUnlockDamage.
func AnyMisUnlock() []string { return slices.Concat(misUnlock(), misUnlockDamage()) }

// Damage is what may follow when two clients hold a lock at once by a cause.
func Damage(cause string) []string {
	return []string{"exclusive-use/" + cause, "store-integrity/" + cause}
}

// TwoHolders is a lock held by two clients at once by a cause, with the damage.
func TwoHolders(cause string) []string {
	return append([]string{"mutual-exclusion/" + cause}, Damage(cause)...)
}

// TwoPrimaries is what may follow where sentinels replace a primary: it had not replicated a grant,
// or granted beside its successor.
func TwoPrimaries() []string {
	return append(append(TwoHolders("failover-loss"), TwoHolders("split-brain")...),
		"fencing-order/failover-loss", "fencing-order/split-brain", "renewal/failover-loss", "renewal/split-brain")
}

// Stuck is what a key causes that is never deleted.
func Stuck() []string { return []string{"progress/no-expiry"} }

// StuckLuck are other causes that such a key may be attributed to.
func StuckLuck() []string { return []string{"progress/ambiguous-reply", "progress/orphan"} }
