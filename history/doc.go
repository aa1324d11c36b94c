// Package history records what happened in a run: every operation of every client, the commands
// that the operations sent to Redis, and the windows in which a fault was active. Of lockbench it
// imports only internal/resp, which can tell what a recorded command does to a key.
//
// It reads no clock and opens no socket. Times are integer nanoseconds on one monotonic base that
// all recorders of a run share; the header's clock error bounds how far recorders may disagree.
//
// A [Recorder] gives each client its own [ClientRecorder], so clients share nothing on their hot
// path. A client's records are packed and spilled as whole blocks to a recording; a run that is
// killed leaves a file that [LoadRecording] reads up to the last whole block. At the end of the run
// the recording becomes a history: JSON Lines, plain or zstd, schema "lockbench/history/v1"
// ([Writer], [Reader]).
//
// # Glossary
//
// These words mean the same thing in every package, message and file of lockbench.
//
//   - client: one sequential actor with its own connections and its own name.
//   - key: the name of one lock. A lock may keep several Redis keys for it.
//   - acquire, release, extend: the calls a client makes on a lock. Try is an acquire that does not
//     wait.
//   - grant: a successful acquire. Its token names it, where the lock has unique tokens.
//   - hold: the time between a grant and its end, from some point of view: see belief and use.
//   - lease: the time after which the server ends a hold by itself. 0 means never.
//   - drift: the part of a lease that a lock subtracts because clocks run at different rates.
//   - valid-until: the instant up to which a lock claims that a grant protects its holder.
//   - belief: from the return of the acquire to the first of release called, loss notified,
//     valid-until.
//   - use: the time a client spent inside its critical section.
//   - busy: refused because another client holds the lock. not held: release or extend refused
//     because the caller does not hold it.
//   - lost: the hold ended although its owner did not release it. rejected: the guarded store
//     refused a stale fence.
//   - unknown: no reply came; the operation may have taken effect, then or later.
//   - fence, fencing token: a number that grows with every grant and that a store can compare.
//   - hand-over: two consecutive holds of one key by different clients.
//   - mis-unlock: a release or extend by one client that ended or changed the hold of another.
//   - lost update: a write over a value that its writer had not read.
//   - stale write: a write by a client whose hold had ended.
//   - linearizable: some order of the operations that respects real time explains all outcomes.
//   - eviction: a server deletes a key because its memory is full, even if a client holds the lock.
//   - failover: a replica replaces its primary, with the data replicated so far.
//   - fault window: the measured time in which an injected fault was active, confirmed or not.
//   - moment: a named step of a client at which a fault can be placed.
package history
