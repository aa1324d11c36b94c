package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

// CauseAbout explains a cause in a clause.
func CauseAbout(c verdicts.Cause) string {
	return map[verdicts.Cause]string{
		verdicts.LeaseOverrun:   "a client worked on after its lease had ended, which no lease prevents",
		verdicts.MisUnlock:      "a release or renewal removed or changed another client's hold",
		verdicts.DoubleGrant:    "the lock granted a second hold while the first was there",
		verdicts.ReaderEvicted:  "a release or renewal removed what other holders shared",
		verdicts.StaleReentry:   "the client entered by its own memory, without asking the server",
		verdicts.SplitBrain:     "two servers took writes as the primary at once",
		verdicts.FailoverLoss:   "a replica without the hold was promoted",
		verdicts.RestartLoss:    "a server restarted without its data",
		verdicts.ClockJump:      "the server's clock jumped, and the lease ended early",
		verdicts.ClockSkew:      "a client's clock was off",
		verdicts.NoExpiry:       "the hold has no lease, and stays for ever",
		verdicts.NeverGranted:   "nobody else held the lock, and it was still refused",
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
		verdicts.OwnRelease:     "the client itself had released it",
		verdicts.CountExpired:   "the key that counts the fences expired",
		verdicts.FenceReused:    "two grants had the same fence",
		verdicts.Barging:        "a newcomer was granted before a client that waited",
	}[c]
}

// properties says of each property what it asks, what it means that it broke (but for those that
// have an ending of their own), and the noun for one of its opportunities.
var properties = map[verdicts.Property]struct{ asks, broken, opportunity string }{
	verdicts.MutualExclusion: {"did the lock tell two clients at once that they hold it?", "", "hand-over"},
	verdicts.ExclusiveUse:    {"were two clients inside at once?", "", "use"},
	verdicts.StoreIntegrity:  {"was the guarded data damaged?", "", "write"},
	verdicts.ReleaseSafety: {"did a release or renewal touch another's hold?",
		"a release or renewal changed what another client held, or did not what it answered", "release"},
	verdicts.Linearizability: {"is there an order of all calls that explains every reply?", "the replies contradict each other", "window"},
	verdicts.FencingOrder:    {"did fences rise from grant to grant?", "a fence was not above an earlier one", "grant"},
	verdicts.Progress:        {"did a client wait although the lock was free?", "", "wait"},
	verdicts.Refusal:         {"was a try refused although the lock was free?", "a client was refused although the lock was free", "refusal"},
	verdicts.Reentrancy:      {"did nested holds of one client stay whole?", "a nested hold did not stay whole", "re-entry"},
	verdicts.Renewal:         {"did renewals keep the hold, and was a loss reported?", "an extend failed, or the hold was reported lost, while it was there", "renewal"},
	verdicts.Fairness:        {"were waiting clients served in order?", "a client was served before one that had come earlier", "turn"},
	verdicts.Hygiene:         {"was nothing left behind?", "something was left behind", "key"},
}

// PropertyAbout asks what a property answers.
func PropertyAbout(p verdicts.Property) string { return properties[p].asks }

func opportunity(p verdicts.Property) string { return cmp.Or(properties[p].opportunity, "key") }

// RunSentence says in plain English what a run tried and what happened. schedules is how many the
// simulator ran; 0 for a run on servers. injected are the faults that took effect.
func RunSentence(r results.Result, schedules int, injected []string) string {
	clients := "Clients"
	if r.Load.Clients > 0 {
		clients = Plural(r.Load.Clients, "client")
	}
	text := fmt.Sprintf("%s of %s took turns", clients, r.Lock)
	if n := r.Operations["acquire"]["ok"]; n > 0 {
		text += ", with " + Plural(n, "hold")
	}
	if schedules > 1 {
		text += fmt.Sprintf(" in %s simulated schedules", Count(schedules))
	}
	if len(injected) == 0 {
		return text + ", without faults: " + happened(r) + "."
	}
	injected = slices.Compact(slices.Sorted(slices.Values(injected)))
	return text + ", under " + joined(injected) + ": " + happened(r) + "."
}

// happened is the end of the sentence: what became of the lock.
func happened(r results.Result) string {
	if r.Verdict == checker.Inconclusive {
		return "nothing is decided" + strings.TrimSuffix(", because "+r.Reason, ", because ")
	}
	c := results.NewCell(r, verdicts.Safe())
	p, cause := c.Worst().Property, c.Worst().Cause
	if p == "" {
		i := slices.IndexFunc(r.Properties, func(p checker.Property) bool { return p.Name == verdicts.MutualExclusion && p.Verdict == checker.Pass })
		if i < 0 {
			return "nothing broke"
		}
		me := r.Properties[i]
		text := fmt.Sprintf("nothing broke in %s, so that with 95 %% confidence at most %s of them break", Plural(me.Opportunities, "hand-over"), Percent(me.CI95[1]))
		if me.MetFault > 0 {
			text += fmt.Sprintf("; %s met a fault", Count(me.MetFault))
		}
		return text + notJudged(me)
	}
	i := slices.IndexFunc(r.Properties, func(one checker.Property) bool { return one.Name == p })
	text := fmt.Sprintf("at %s of %s ", Count(r.Properties[i].Violations), Plural(r.Properties[i].Opportunities, opportunity(p)))
	switch ending := c.Ending(); {
	case ending == results.Broke:
		text += properties[p].broken
	case ending == results.Late && p == verdicts.StoreIntegrity:
		text += "a client wrote after its lease had ended, beside the next holder, and damaged the data"
	default:
		text += ending.About()
	}
	if about := CauseAbout(cause); about != "" && !r.OutlivedOnly() {
		text += ". The cause: " + strings.TrimSuffix(about, ".")
	}
	return text
}
