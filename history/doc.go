// Package history is the record of what happened in a run: every operation that every client
// called, the commands those operations sent to Redis, and the windows in which a fault was active.
// It is the ground floor: it knows nothing of Redis, of locks' code, or of how a record is judged.
//
// It refuses to read a clock or to open a socket. Times are handed in, as integer nanoseconds on one
// monotonic base that all recorders of a run share (or whose disagreement the header's clock error bounds).
//
// Data flows one way. A [Recorder] hands one [ClientRecorder] to each client; nothing that a client does on
// its hot path is shared with another client. What it does is packed into a few bytes and spilled as whole blocks to a recording, so
// that a run which is killed leaves a file that can be read to its last block ([LoadRecording]). When the clients are done it becomes
// a history. The codec ([Writer], [Reader]) is JSON Lines, plain or zstd, schema "lockbench/history/v1"; the package checker reads what comes out.
//
// # Glossary
//
// These words mean the same thing in every package, message and file of lockbench.
//
//   - client: one sequential actor with its own connections and its own name.
//   - key: the name of one lock. A lock may keep several Redis keys for it.
//   - acquire, release, extend: the calls a client makes on a lock. Try is an acquire that does not wait.
//   - grant: a successful acquire. Its token names it, where the lock has unique tokens.
//   - hold: the time between a grant and its end, from some point of view: see belief and use.
//   - lease: the time after which the server ends a hold by itself. 0 means never.
//   - drift: the part of a lease that a lock gives away to allow for clocks of different rate.
//   - valid-until: the instant up to which a lock claims that a grant protects its holder.
//   - belief: from the return of the acquire to the first of release called, loss notified, valid-until.
//   - use: the time a client really spent inside its critical section.
//   - busy: refused because another holds. not held: release or extend refused because the caller does not hold.
//   - lost: the hold ended without its owner's doing. rejected: the guarded store refused a stale fence.
//   - unknown: the reply never came; the operation may have taken effect, then or later.
//   - fence, fencing token: a number that grows with every grant and that a store can compare.
//   - hand-over: two consecutive holds of one key by different clients.
//   - mis-unlock: a release or extend by one client that ended or changed the hold of another.
//   - lost update: a write that overwrote a value which its writer had not read.
//   - stale write: a write by a client whose hold had ended.
//   - linearizable: explicable by one order of operations that respects real time.
//   - eviction: a server deletes a key because its memory is full, whoever holds by it.
//   - failover: a replica takes the place of its primary, with what had been copied to it by then.
//   - fault window: the measured time in which an injected fault was active, confirmed or not.
//   - moment: a named step of a client at which a fault can be placed.
package history
