package repro

// argument are the five cases of the published argument about Redlock, and what came of them.
func argument() []Bug {
	return []Bug{
		{Name: "K1", Source: "Kleppmann 2016", Lock: "redlock", Scenario: "K1", Shows: []string{"exclusive-use/lease-overrun", "store-integrity/lease-overrun"},
			What: "A client stalls between its last look at the lock and its write: both sides agree that no lease survives it."},
		{Name: "K2", Source: "Kleppmann 2016", Lock: "redlock", Scenario: "K2", Shows: []string{"store-integrity", "exclusive-use"},
			What: "A write is held up on its way to the store and arrives when the lock is another's."},
		{Name: "K3", Source: "Kleppmann 2016", Lock: "redlock", Scenario: "K3", Shows: []string{"mutual-exclusion"},
			What: "The clock of one of the three masters that granted jumps, and a second majority comes about."},
		{Name: "K4", Source: "Kleppmann 2016", Lock: "redlock", Scenario: "K4", Shows: []string{"mutual-exclusion"},
			What: "One of the three masters that granted restarts without its data, and a second majority comes about."},
		{Name: "K5", Source: "Kleppmann 2016, Sanfilippo's reply", Lock: "bug-redlock-one-look", Scenario: "K5", Spares: "redlock",
			Shows: []string{"mutual-exclusion"},
			What:  "A client stalls while the answers are on their way: without the second reading of its clock it believes them, and Redlock, which has it, does not."},
		{Name: "redlock-restart", Source: "003", Lock: "redlock", Scenario: "K4", Shows: []string{"mutual-exclusion"},
			What: "A master that dies and comes back empty endangers the lock that was to survive it."},
	}
}
