package checker

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/history"
)

// ms returns an instant in words, from the story's base.
func (t *teller) ms(at int64) string { return span(at - t.base) }

// span returns a length of time: whole milliseconds, with a decimal where that would hide it, seconds where it is long.
func span(ns int64) string {
	switch abs := max(ns, -ns); {
	case abs >= 10*second:
		return strconv.FormatFloat(float64(ns)/float64(second), 'f', 1, 64) + " s"
	case abs >= 10*milli || ns%milli == 0:
		return strconv.FormatInt((ns+milli/2)/milli, 10) + " ms"
	case abs >= milli/10:
		return strconv.FormatFloat(float64(ns)/float64(milli), 'f', 1, 64) + " ms"
	}
	return strconv.FormatFloat(float64(ns)/1000, 'f', 0, 64) + " us"
}

// broke says of each property what its violation is, for two clients, a key and a length of time.
func (t *teller) headline() string {
	v, who := t.v, t.who()
	lasted := ""
	if v.Lasted > 0 {
		lasted = " for " + span(v.Lasted)
	}
	what := map[history.Property]string{
		history.MutualExclusion: fmt.Sprintf("%s both held %q%s", who, v.Key, lasted),
		history.ExclusiveUse:    fmt.Sprintf("%s were both inside the critical section of %q%s", who, v.Key, lasted),
		history.StoreIntegrity:  fmt.Sprintf("what %q guards was damaged by %s", v.Key, who),
		history.ReleaseSafety:   fmt.Sprintf("the hold of %s on %q was ended or changed by another", first(v.Clients), v.Key),
		history.Linearizability: fmt.Sprintf("no order of the operations on %q explains what %s were told", v.Key, who),
		history.FencingOrder:    fmt.Sprintf("the fence of %q did not grow from one grant to the next", v.Key),
		history.Progress:        fmt.Sprintf("%s could not get %q%s though nobody held it", who, v.Key, lasted),
		history.Refusal:         fmt.Sprintf("%s was told that %q is busy when nobody can have held it", who, v.Key),
		history.Reentrancy:      fmt.Sprintf("%s re-entered %q wrongly", who, v.Key),
		history.Renewal:         fmt.Sprintf("the renewal of %q by %s went wrong", v.Key, who),
		history.Fairness:        fmt.Sprintf("of %s the second overtook the first in the queue for %q", who, v.Key),
		history.Hygiene:         fmt.Sprintf("%q was left behind after everybody was done", v.Key),
	}[v.Property]
	return fmt.Sprintf("%s broken: %s (%s)", v.Property, what, t.cause)
}

func (t *teller) who() string {
	switch n := len(t.v.Clients); {
	case n == 0:
		return "a client"
	case n > 3:
		return fmt.Sprintf("%s and %d others", t.v.Clients[0], n-1)
	case n > 1:
		return strings.Join(t.v.Clients[:n-1], ", ") + " and " + t.v.Clients[n-1]
	}
	return t.v.Clients[0]
}

func first(list []string) string {
	if len(list) == 0 {
		return "a client"
	}
	return list[0]
}

// moral says in one sentence what a cause comes to.
func (t *teller) moral() string {
	text := map[history.Cause]string{
		history.LeaseOverrun:   "the client went on after its lease had ended; a lease cannot stop it, only a fence that the store checks can",
		history.MisUnlock:      "the key was deleted by one who was not its holder: the release does not make sure whose key it deletes",
		history.DoubleGrant:    "nothing freed the key between the two grants: whether it is free and taking it are not one step",
		history.ReaderEvicted:  "the readers share one mark, and one reader's leaving or coming took away the mark of another",
		history.StaleReentry:   "the client counted itself in without asking the server, when its lease had ended",
		history.FailoverLoss:   "the replica was promoted before it had the key: replication is asynchronous",
		history.RestartLoss:    "the server came back without the key: it had not been written to disk",
		history.ClockJump:      "the server counts leases by its wall clock, and that was set",
		history.ClockSkew:      "the lease was judged by clocks that do not agree",
		history.NoExpiry:       "the key has no lease, so that nothing will ever end the hold of a client that is gone",
		history.NeverGranted:   "the lock was never granted to anybody",
		history.AmbiguousReply: "the grant's reply was lost: the server holds the key for a client that does not know it",
		history.RenewalGap:     "the lease was not renewed in time, though nothing kept the client from it",
		history.Resurrection:   "an extend made the key again that it should have found gone",
		history.LostWakeup:     "the lock was free and the waiter slept on: it missed its wake-up",
		history.Orphan:         "what is on the server stands for a client that is gone, or that has given up",
		history.QuorumErosion:  "a grant rested on fewer nodes than a majority",
		history.CauseUnknown:   "the recorded commands and faults do not tell",
	}[t.cause]
	switch r := t.s.reason; {
	case t.cause == history.AmbiguousReply && r.step != nil && r.step.role() == history.Release:
		text = "a release that had been given up was still on its way: it came after the next grant under the same token, and ended that"
	case t.cause == history.MisUnlock && r.window != nil && r.window.Fault == faultDeleteKey:
		text = "somebody who is no client of the lock deleted the key under its holder"
	case t.cause == history.MisUnlock && r.window != nil && r.window.Fault == faultEvictKeys:
		text = "the server, out of memory, evicted the key under its holder"
	case t.cause == history.LeaseOverrun && r.first != nil && t.s.header.Lease > 0 && until(t.s.header, &r.first.acquire) == never:
		text = "the lock promises to tell its holder when the hold is gone, and told it later than that"
	}
	return "why: " + text
}

// command shows a command and its reply, with the run's prefix taken off the keys.
func (t *teller) command(st *step) string {
	words := []string{st.Name}
	for _, arg := range st.Args {
		if i := strings.LastIndex(arg, t.v.Key); i > 0 && len(t.v.Key) > 0 {
			arg = arg[i:]
		}
		words = append(words, shorten(arg))
	}
	reply := st.Reply
	if st.Replied == 0 {
		reply = "no reply"
	}
	return strings.Join(words, " ") + " -> " + shorten(reply)
}

// shorten cuts what nobody reads to the end: tokens.
func shorten(word string) string {
	const most = 24
	if len(word) <= most {
		return word
	}
	return word[:most-3] + "..."
}
