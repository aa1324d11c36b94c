package locktest

import (
	"fmt"
	"sort"
	"strings"
	"testing"
)

// wildBug is a lock that once passed Run or Explore, and what catches it now: "" for nothing.
type wildBug struct {
	bug     string
	make    factory
	run     string // a rule
	explore string // a property and a cause
	options []Option
}

func wildBugs() []wildBug {
	base := func(c Config) owned { return owned{Config: c} }
	return []wildBug{
		{bug: "a subscriber is the hold", make: func(c Config) (any, error) { return &subscribedLock{Config: c}, nil }, options: []Option{Promises("no-lease")}},
		{bug: "two names share a local count", make: newStriped()},
		{bug: "no release ever works", make: func(c Config) (any, error) { return &packedLock{owned: base(c)}, nil }},
		{bug: "no release ever works, and each says that it did", make: func(c Config) (any, error) { return &packedLock{owned: base(c), says: true}, nil }},
		{bug: "a heart beats for who was refused", make: func(c Config) (any, error) { return &beatLock{Config: c}, nil }},
		{bug: "a writer asks ten readers", make: func(c Config) (any, error) { return &tenLock{owned: base(c)}, nil }},
		{bug: "one lost lock ends the renewal of all", make: newLoop()},
		{bug: "an ended context is a release", make: bent(bentLock{releases: politeRelease})},
		{bug: "64 refusals are a grant", make: bent(bentLock{waits: sixtyFour})},
		{bug: "the lease is what the context has left", make: bent(bentLock{tries: shortenedLease})},
		{bug: "an error is a grant", make: bent(bentLock{tries: errorIsGrant})},
		{bug: "a refusal strips the lease", make: bent(bentLock{tries: stripsLease})},
		{bug: "the loser overwrites the winner's deadline", make: bent(bentLock{tries: overwrites})},
		{bug: "a key that is gone is an error", make: bent(bentLock{tries: crashesOnFree})},
		{bug: "a release deletes whatever is there", make: bent(bentLock{releases: stopDeletes})},
		{bug: "a client that starts deletes all holds", make: startFlushes},
		{bug: "a hold ends with the hour", make: hourly},
		{bug: "a waiter sleeps until its context ends", make: bent(bentLock{waits: sleepsOn})},
		{bug: "an error locks the object for ever", make: func(c Config) (any, error) { return &staysLocked{lock: &lock{Config: c, name: itself}}, nil }},
		{bug: "a word of the script is no owner", make: func(c Config) (any, error) { return &reservedWord{base(c)}, nil }},
		{bug: "a waiter and an extend count in whole seconds", make: func(c Config) (any, error) { return secondsLater{&lock{Config: c, name: itself}}, nil }},
		{bug: "a reader that was refused is counted", make: func(c Config) (any, error) { return countedReader{&countingLock{Config: c}}, nil }},
		{bug: "a semaphore has one permit too many", make: func(c Config) (any, error) { return &slotLock{owned: base(c), more: true}, nil }, options: []Option{Promises("permits")}},
		{bug: "each token leaves a key", make: func(c Config) (any, error) { return &litter{base(c)}, nil }},
		{bug: "fences are counted before the grant", make: func(c Config) (any, error) { return &fencedLock{Config: c, apart: true}, nil }},
		{bug: "the watchdog ends at the first error", make: newTestLock(func(l *lock) { l.renew, l.frail = true, true }), options: []Option{Promises("renews")}},
		{bug: "the watchdog renews whatever key is there", make: newTestLock(func(l *lock) { l.renew, l.blindRenew = true, true }), options: []Option{Promises("renews")}},
	}
}

func TestSurvey(t *testing.T) {
	for _, row := range wildBugs() {
		t.Run(row.bug, func(t *testing.T) {
			var by []string
			for name, res := range checked(t, row.make, virtual, row.options...) {
				if len(res.Problems) > 0 {
					by = append(by, name)
				}
			}
			sort.Strings(by)
			r := searched(t, row.make, 300, row.options...)
			x := fmt.Sprint(r.Verdict, " ", r.Reason)
			if r.First != nil {
				x = fmt.Sprintf("%s/%s in %d", r.First.Property, r.First.Cause, r.First.Schedule)
			}
			fmt.Printf("SURVEY | %s | %s | %s\n", row.bug, strings.Join(by, " "), x)
		})
	}
}
