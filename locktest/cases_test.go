package locktest

import (
	"fmt"
	"strings"
	"testing"
)

// TestCasesAreCovered: C1 to C26 are each covered by a rule, or by the test named in elsewhere.
func TestCasesAreCovered(t *testing.T) {
	of := map[string][]string{}
	for _, r := range rules() {
		for _, c := range strings.Fields(r.cases) {
			of[c] = append(of[c], r.name)
		}
		if r.cases == "" {
			t.Errorf("rule %s is of no case", r.name)
		}
	}
	for i, c := range situations() {
		if want := fmt.Sprint("C", i+1); c.id != want {
			t.Errorf("case no. %d is called %s", i+1, c.id)
		}
		if len(of[c.id]) == 0 && c.elsewhere == "" {
			t.Errorf("%s is tried nowhere: %s", c.id, c.sentence)
		}
		delete(of, c.id)
	}
	if n := len(situations()); n != 26 {
		t.Errorf("%d cases, want C1 to C26", n)
	}
	for c, names := range of {
		t.Errorf("rules %q are of %s, which is no case", names, c)
	}
}

// situation is a situation in which locks have failed, according to bug reports.
type situation struct {
	id       string // "C1" …
	sentence string
	// elsewhere says where in lockbench the part is tested that no rule can test; "" if the rules test all of it.
	elsewhere string
}

// situations lists every situation in which a lock must be tested. The cases of the rules say which rules cover it.
func situations() []situation {
	return []situation{
		{"C1", "Lock, compete, unlock: the competitor gets in.", ""},
		{"C2", "Unlock and extend by one who does not hold, by nobody, twice, and after the lease: told apart, and without effect.", ""},
		{"C3", "The lease ends, another holds, and the first unlocks or extends: the other's hold stays.", ""},
		{"C4", "The lease ends, another comes and goes, and the first extends: it must fail.", ""},
		{"C5", "The lease is as long as asked for, an extend starts it anew, and nonsense is refused.", ""},
		{"C6", "A hundred ask at once and one wins; a counter loses no update.", "clients as processes: lockbench run --clients-as processes --workload counter"},
		{"C7", "A blocking acquire waits, honours its deadline, and leaves no key, no place, no subscription and no goroutine.", ""},
		{"C8", "The holder is killed: a waiter gets in within the lease.", ""},
		{"C9", "A waiter is killed: the next one gets in.", ""},
		{"C10", "The keys are deleted under holder and waiters: the holder is told, the waiters get in.", ""},
		{"C11", "A release wakes a waiter, every time, and though its subscription was cut.", "scenario pubsub-cut"},
		{"C12", "A watchdog keeps the lock, stops when it should, survives one failure, and renews no other's.", "scenarios slow-work and cancel-acquire"},
		{"C13", "Entries are counted, an inner release and a lost reply leave the outer hold alone.", "scenario owner-collision"},
		{"C14", "Readers share, a writer is alone, the dead of either sort end with their leases, writers come first where that is claimed.", "workload read-mostly"},
		{"C15", "Never more holders than permits; permits come back once, and wake as many.", ""},
		{"C16", "Order of arrival, whatever the waiters' clocks say, without drift and without ghosts.", ""},
		{"C17", "Fences grow by grant, and a store refuses what is stale.", "the store: workload counter under pause-holder; lost data: lockbench repro fence-reset"},
		{"C18", "Every mask of nodes taken, down, hanging or losing replies: granted if and only if a majority is left.", ""},
		{"C19", "What comes too late is no grant, and nobody is told of more time than there is.", "scenario pause-after-grant"},
		{"C20", "The reply to an acquire, an extend or a release is lost, with the client's retries and without.", "scenarios lost-reply-acquire and lost-reply-release"},
		{"C21", "The server forgets its scripts.", "scenario script-flush; a restart: restart-delayed"},
		{"C22", "A lock that replicas must confirm is refused and undone without them.", "failover that loses the key: scenario failover"},
		{"C23", "A client's clock is off by two leases.", "scenario client-clock-skew"},
		{"C24", "All keys of a lock are in one slot.", "a cluster: scenario cluster-slots"},
		{"C25", "Busy, lost, unavailable and cancelled are told apart.", ""},
		{"C26", "A lock broken on purpose is caught, one for each sort of bug.", "go test ./impls/catalogue -run Planted; lockbench suite --locks planted"},
	}
}
