package explain

import (
	"fmt"
	"slices"

	"github.com/lockbench/lockbench/verdicts"
)

// This file explains waits for votes: how a client came to lose more of them than the quorum allows.

// places returns the wait for each vote: the waiter's last try before until, by node and vote.
func (w *wait) places() (out []*wait) {
	for _, a := range w.attemptsBy(w.op, w.until) {
		vote := *w
		vote.attempt = a
		out = append(out, &vote)
	}
	return out
}

// won reports whether the attempt got its vote: a command of it set something, and its reply is not known as a refusal.
func (w *wait) won() bool {
	return slices.ContainsFunc(w.attempt.events, func(i int) bool {
		e := &w.attempt.node.events[i]
		refused, _ := w.seen.refuse(shapeOf(e.cmd), e.cmd.Reply)
		return len(keysOf(e.changes, true)) > 0 && !refused
	})
}

// outvoted explains a wait by one cause of as many lost votes as the waiter needed. It explains each lost vote by itself, as if no other mattered. Votes
// that were lost to several causes, none of which accounts for enough of them, have no one cause.
func (w *wait) outvoted() Answer {
	needed := w.quorum()
	var causes []verdicts.Cause // in the order in which they were found
	votes := map[verdicts.Cause][]Answer{}
	for _, vote := range w.places() {
		if vote.won() {
			needed--
			continue
		}
		if answer := firstOf(vote.fault, vote.blocker); answer.Cause != "" {
			if votes[answer.Cause] == nil {
				causes = append(causes, answer.Cause)
			}
			votes[answer.Cause] = append(votes[answer.Cause], answer)
		}
	}
	for _, cause := range causes {
		if needed > 0 && len(votes[cause]) >= needed {
			return w.elected(cause, votes[cause][:needed])
		}
	}
	return Answer{}
}

// elected returns the answer for votes that were lost to one cause and would have sufficed.
func (w *wait) elected(cause verdicts.Cause, votes []Answer) Answer {
	all := Answer{Cause: cause}
	for i, vote := range votes {
		if i > 0 {
			all.Experiment = append(all.Experiment, "; ")
		}
		all.Experiment = sentence(all.Experiment, vote.Experiment)
		all.Events = append(all.Events, vote.Events...)
	}
	all.Experiment = sentence(all.Experiment, fmt.Sprintf("; with %d of %d votes ", w.quorum(), w.votes), Name(w.op.Client), " would have had the lock")
	return all
}

// prize returns what a waiter would have got at one place.
func (w *wait) prize() string {
	if w.votes > 1 {
		return " would have got one more vote"
	}
	return " would have been granted"
}

// idle reports whether the lock, or a quorum of its votes, was free during most of the wait, and the client sent no request there.
func (w *wait) idle() bool {
	if w.votes == 1 {
		return w.free()
	}
	free := 0
	for _, vote := range w.places() {
		if vote.free() {
			free++
		}
	}
	return free >= w.quorum()
}
