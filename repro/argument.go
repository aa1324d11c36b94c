package repro

// argument returns the five cases of the published argument about Redlock, and a claim about the fourth.
func argument() []Bug {
	return []Bug{
		{Name: "K1", Source: "Kleppmann 2016", Lock: "redlock", Scenario: "K1", Shows: []string{"exclusive-use/lease-overrun", "store-integrity/lease-overrun"},
			What: "A client stalls between its last check of the lock and its write; both sides agree that no lease protects against that."},
		{Name: "K2", Source: "Kleppmann 2016", Lock: "redlock", Scenario: "K2", Shows: []string{"store-integrity/lease-overrun", "exclusive-use/lease-overrun"},
			What: "A write is delayed on its way to the store and arrives when another client holds the lock."},
		{Name: "K3", Source: "Kleppmann 2016", Lock: "redlock", Scenario: "K3", Shows: []string{"mutual-exclusion/clock-jump"},
			What: "The clock of one of the three masters that granted jumps, and another client gets a second majority."},
		{Name: "K4", Source: "Kleppmann 2016", Lock: "redlock", Scenario: "K4", Shows: []string{"mutual-exclusion/restart-loss"},
			What: "One of the three masters that granted restarts without its data, and another client gets a second majority."},
		{Name: "K5", Source: "Kleppmann 2016, Sanfilippo's reply", Lock: "bug-redlock-one-look", Scenario: "K5", Control: "redlock",
			Shows: []string{"mutual-exclusion/overbelief"},
			What:  "A client stalls while it waits for the replies. Unless it reads its clock again, it accepts an expired grant; Redlock does read it again."},
		{Name: "redlock-restart", Source: "Redis series 13", Lock: "redlock", Scenario: "K4", Shows: []string{"mutual-exclusion/restart-loss"},
			What: "A master that crashes and restarts empty breaks the lock that should survive crashes."},
	}
}
