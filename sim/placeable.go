package sim

import "slices"

// Placeable lists the faults that a search can place, by name.
func Placeable() []string { return slices.Sorted(slices.Values(explorable)) }

// IsStanding tells whether a fault is a state of affairs from the start. A random or PCT search draws it before a schedule begins; an
// exhaustive one cannot place it.
func IsStanding(fault string) bool { return slices.Contains(standing, fault) }
