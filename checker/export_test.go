package checker

import "github.com/lockbench/lockbench/history"

// RaceDetector is for the tests outside the package.
const RaceDetector = raceDetector

// Lengthened adds to a record the refused extends of a client that holds nothing, all through it without a pause: together more operations than are searched
// exactly, and no instant at which the record could be cut.
func Lengthened(ops []history.Operation) []history.Operation {
	from, to := ops[0].Call, ops[0].Return
	for _, op := range ops {
		from, to = min(from, op.Call), max(to, op.Return)
	}
	step := (to-from)/maxEffects + 1
	for i := range int64(maxEffects) {
		at := from + step*i
		ops = append(ops, history.Operation{ID: uint64(len(ops)) + 1, Client: "nobody", Op: history.Extend, Key: ops[0].Key, Call: at, Return: at + step, Outcome: history.NotHeld, Token: "none"})
	}
	return ops
}

// Whole searches a key of up to 64 operations as a whole.
func (o Options) Whole() Options {
	o.whole = 64
	return o
}
