// Package checker decides from the record of a run whether a lock kept its promises, and shows
// where it broke them. docs/verdicts.md has the definition; this package implements it and nothing
// else.
//
// It reads nothing but the record: it knows no Redis, no variant's name and no expectation, reads
// no clock and draws no global random number. What it can't decide is inconclusive. A record that
// breaks an assumption is an error with a line number, never a verdict.
//
// # How a history flows through
//
//  1. load (load.go) reads the source once, a batch while the one before it is added: 24 bytes for
//     each operation (record.go, paged.go), 48 more for each grant, strings as numbers
//     (numbered.go), sorted in chunks by call (walk.go). Operations may come in any order.
//  2. findHolds (holds.go, open.go) goes over the operations of a key by call, finds its holds, and
//     of each the three intervals on which all rules rest: belief, certain, possible
//     (intervals.go), and the holds that may be there without a reply (ghosts.go). It refuses a
//     client that does two things at once, and a release that fits two holds.
//  3. sweep (judge.go) goes over them again and shows each to the judges, at its call and at its
//     return. Each judge checks one property, in the file with its name, whose comment is the
//     definition. It reads the holds, the evidence (commands and faults, evidence.go) and the marks
//     (what the nodes executed, marks.go), and changes none of them. What the intervals leave open
//     is not judged, and counted with its reason.
//  4. linearizability.go cuts the key into windows and asks Porcupine (model.go)
//     whether the answers in them have a common order.
//  5. verdict.go adds up the keys. A violation has a Witness, the holds and operations that show
//     it, and its surroundings in the record (violation.go). Package explain finds its cause, package
//     story tells it.
//
// check.go is on top; no file uses what stands above it.
//
// Keys are judged concurrently. Time and memory grow linearly with the history, legal or not;
// BenchmarkCheck measures both beside plain Porcupine.
//
// A property is added in three places: its name in package verdicts, a file here with its judge,
// which judgeKey (check.go) lists, and docs/verdicts.md.
package checker
