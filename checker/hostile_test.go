package checker

import (
	"fmt"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// TestHundredThousandClients judges a history in which every hold is another client's, on one key and on as many.
func TestHundredThousandClients(t *testing.T) {
	const n = 100_000
	for _, keys := range []int{1, 1000} {
		var ops []history.Operation
		for i := range int64(n) {
			client, key := fmt.Sprint("client-", i), fmt.Sprint("key-", i%int64(keys))
			ops = append(ops,
				history.Operation{ID: 1, Client: client, Op: history.Acquire, Key: key, Call: 10 * i, Return: 10*i + 1, Outcome: history.OK, Token: client},
				history.Operation{ID: 1, Client: client, Op: history.Release, Key: key, Call: 10*i + 8, Return: 10*i + 9, Outcome: history.OK, Token: client})
		}
		v := verdictOf(t, Input{Header: history.Header{Kind: history.Mutex, Lease: 1000}}, ops, Options{})
		if p := v.property(verdicts.MutualExclusion); v.Verdict != Pass || p.Opportunities != n-keys {
			t.Errorf("%d keys: %s, %d hand-overs", keys, v.Verdict, p.Opportunities)
		}
	}
}

// TestIDsAreForPeople gives every operation the same id, or none: the judgement is the same, and stories print the ids of the file.
func TestIDsAreForPeople(t *testing.T) {
	ops := parse(t, "a acquire -9 -8 ok\nb acquire -7 -6 ok")
	for i := range ops {
		ops[i].ID = 1<<63 + 7
	}
	v := verdictOf(t, Input{Header: forever}, ops, Options{})
	p := v.property(verdicts.MutualExclusion)
	if p.Violations != 1 || p.First.Witness.All()[0].ID != 1<<63+7 || p.First.At != -6*msec {
		t.Errorf("%+v", p)
	}
}

// TestInstantsOfVirtualTime puts all operations of two clients into one instant.
func TestInstantsOfVirtualTime(t *testing.T) {
	v := verdictOf(t, Input{Header: leased}, parse(t, `
		a acquire 5 5 ok
		a release 5 5 ok
		b acquire 5 5 ok
		b release 5 5 ok
		a acquire 5 5 busy
		a acquire 5 5 ok`), Options{})
	if got := broken(v); got != "" || v.property(verdicts.Linearizability).Verdict != Pass {
		t.Errorf("%q, %+v", got, v.property(verdicts.Linearizability))
	}
}

// TestAnswerOfTheNextCallIsNotTheRelease: a client calls acquire at the instant at which its release returned; the reply of that script, a time to
// wait, does not mean that a key was removed.
func TestAnswerOfTheNextCallIsNotTheRelease(t *testing.T) {
	commands := []history.Command{
		{Client: "a", Sent: 5 * msec, Replied: 7 * msec, Name: "EVALSHA", Args: []string{"release.lua", "1", "k"}, Reply: "1"},
		{Client: "b", Sent: 5 * msec, Replied: 6 * msec, Name: "EVALSHA", Args: []string{"acquire.lua", "1", "k"}, Reply: "1"},
		{Client: "a", Sent: 7 * msec, Replied: 8 * msec, Name: "EVALSHA", Args: []string{"acquire.lua", "1", "k"}, Reply: "299"},
	}
	v := verdictOf(t, Input{Header: leased, Commands: commands}, parse(t, `
		a acquire 0 1 ok
		a release 5 7 ok
		b acquire 2 6 ok
		a acquire 7 8 busy
		b release 9 10 ok`), Options{})
	if got := broken(v); got != "" {
		t.Error(got)
	}
}
