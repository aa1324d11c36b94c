// Package explain names the cause of a violation: what became of the first hold's mark before the
// second was granted.
//
// It reads that from what the nodes executed, and asks one question: with the mark put back into
// the data just before the second's request, is that refused? The table in table.go has the causes;
// what fits no row is unknown. Nothing here knows the name of a lock, a script or a client,
// or reads what other rules found. A record without effects gets those of its commands, executed in
// an order that gives their replies; a cause then counts if two such orders have it.
//
// Data flow: [Record] → run (the nodes' events, by key and by operation; run.go) → holds (hold.go)
// → a pair of them (pair.go) → marks and fates (mark.go) → ask again (ask.go) → the table and its
// conditions (table.go) → [Answer] (conclude.go). explain.go is on top; no file uses
// what stands above it.
package explain
