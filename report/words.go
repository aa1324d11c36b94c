package report

import "github.com/lockbench/lockbench/verdicts"

// CauseAbout explains a cause in a clause.
func CauseAbout(c verdicts.Cause) string {
	return map[verdicts.Cause]string{
		verdicts.LeaseOverrun:   "a client worked on after its lease had ended; every lease without fences has this",
		verdicts.MisUnlock:      "a release or renewal removed another client's hold",
		verdicts.DoubleGrant:    "the lock granted a second hold while the first was there",
		verdicts.ReaderEvicted:  "a release or renewal removed what other holders shared",
		verdicts.StaleReentry:   "the client entered by its own memory, without asking the server",
		verdicts.SplitBrain:     "two servers took writes as the primary at once",
		verdicts.FailoverLoss:   "a replica without the hold was promoted",
		verdicts.RestartLoss:    "a server restarted without its data",
		verdicts.ClockJump:      "the server's clock jumped, and the lease ended early",
		verdicts.ClockSkew:      "a client's clock was off",
		verdicts.NoExpiry:       "the hold has no lease, and stays for ever",
		verdicts.NeverGranted:   "nobody held the lock, and it was still refused",
		verdicts.AmbiguousReply: "a reply was lost, and the client could not know what had happened",
		verdicts.RenewalGap:     "the lock promises to renew, and no renewal came in time",
		verdicts.Resurrection:   "a late command brought an ended hold back",
		verdicts.LostWakeup:     "the lock was free, and the waiting client slept on",
		verdicts.NoUnlock:       "a release reached the server and did not free the lock",
		verdicts.Orphan:         "something was left behind by a client that is gone",
		verdicts.QuorumErosion:  "the first hold had lost its majority of servers",
		verdicts.KeyDeleted:     "somebody deleted the key",
		verdicts.Eviction:       "the server was out of memory and evicted the key",
		verdicts.Overbelief:     "the lock told its client a longer lease than the server kept",
		verdicts.LateRequest:    "an earlier request of the client arrived late",
		verdicts.OwnRelease:     "the client released before it had finished",
		verdicts.CountExpired:   "the key that counts the fences expired",
		verdicts.FenceReused:    "two grants had the same fence",
		verdicts.Barging:        "a newcomer was granted before a client that waited",
	}[c]
}

// PropertyAbout asks what a property answers.
func PropertyAbout(p verdicts.Property) string {
	return map[verdicts.Property]string{
		verdicts.MutualExclusion: "did the lock tell two clients at once that they hold it?",
		verdicts.ExclusiveUse:    "were two clients inside at once?",
		verdicts.StoreIntegrity:  "was the guarded data damaged?",
		verdicts.ReleaseSafety:   "did a release or renewal touch another's hold?",
		verdicts.Linearizability: "is there an order of all calls that explains every reply?",
		verdicts.FencingOrder:    "did fences rise from grant to grant?",
		verdicts.Progress:        "did a client wait although the lock was free?",
		verdicts.Refusal:         "was a try refused although the lock was free?",
		verdicts.Reentrancy:      "did nested holds of one client stay whole?",
		verdicts.Renewal:         "did renewals keep the hold, and was a loss reported?",
		verdicts.Fairness:        "were waiting clients served in order?",
		verdicts.Hygiene:         "was nothing left behind?",
	}[p]
}

// brokenAbout says what it means that a property broke, of those that decide no ending of their own.
func brokenAbout(p verdicts.Property) string {
	return map[verdicts.Property]string{
		verdicts.ReleaseSafety:   "a release or renewal changed what another client held, or did not what it answered",
		verdicts.Linearizability: "the replies contradict each other",
		verdicts.FencingOrder:    "a fence was not above an earlier one",
		verdicts.Refusal:         "a client was refused although the lock was free",
		verdicts.Reentrancy:      "a nested hold did not stay whole",
		verdicts.Renewal:         "a hold was reported lost while it was there",
		verdicts.Fairness:        "a client was served before one that had come earlier",
		verdicts.Hygiene:         "something was left behind",
	}[p]
}

// MetricName names a figure of a bench in plain words.
func MetricName(metric string) string {
	if name, ok := map[string]string{
		"throughput": "holds per second", "acquire.p50": "wait, median", "acquire.p99": "wait, 99 % within", "acquire.p99.9": "wait, 99.9 % within",
		"hand-over.p50": "hand-over, median", "hand-over.trips.p50": "hand-over, in round trips", "release.p50": "release, median", "requests": "requests per hold",
		"bytes": "bytes per hold", "client-cpu": "CPU of the clients per hold", "server-cpu": "CPU of the servers per hold",
		"jain": "evenness (Jain: 1 = all alike)", "longest-wait": "longest wait", "bypasses": "grants out of turn", "achieved": "of the offered rate",
		"errors": "acquires that ended in errors", "recovery": "free again after a crash", "fault.throughput": "holds per second in faults", "fault.recovery": "first hold after a fault",
	}[metric]; ok {
		return name
	}
	return metric
}
