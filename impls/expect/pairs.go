package expect

import "slices"

// Overrun is what a client does that works on past its lease: nobody but the client is to blame, and the data suffer.
func Overrun() []string {
	return []string{"exclusive-use/lease-overrun", "store-integrity/lease-overrun"}
}

// MisUnlock is what a release does that ends another's hold.
func MisUnlock() []string {
	return []string{"mutual-exclusion/mis-unlock", "release-safety/mis-unlock"}
}

// MisUnlockDamage is what may follow a mis-unlock.
func MisUnlockDamage() []string {
	return []string{"exclusive-use/mis-unlock", "store-integrity/mis-unlock"}
}

// AnyMisUnlock is MisUnlock and MisUnlockDamage.
func AnyMisUnlock() []string { return slices.Concat(MisUnlock(), MisUnlockDamage()) }

// Damage is what may follow when two clients hold a lock at once for a cause.
func Damage(cause string) []string {
	return []string{"exclusive-use/" + cause, "store-integrity/" + cause}
}

// TwoHolders is a lock held by two clients at once for a cause, with the damage.
func TwoHolders(cause string) []string {
	return append([]string{"mutual-exclusion/" + cause}, Damage(cause)...)
}

// Stuck is what a key shows that nobody will ever delete.
func Stuck() []string { return []string{"progress/no-expiry"} }

// StuckLuck are other readings of a key that nobody deletes, and what is left behind at the end.
func StuckLuck() []string {
	return []string{"progress/ambiguous-reply", "progress/orphan", "hygiene/no-expiry", "hygiene/ambiguous-reply", "hygiene/orphan"}
}
