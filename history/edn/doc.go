// Package edn reads the lock histories of Jepsen tests, so that they can be checked like one's own.
//
// It takes what Jepsen and Knossos write: a map for each line, or one vector of maps, with the fields :type (:invoke, :ok,
// :fail, :info), :f (:acquire, :release), :process, :value, and :time in nanoseconds where there is one. It pairs every
// invocation with its completion and yields operations of package history:
//
//   - :ok is ok; :fail is fail, which says that nothing happened, and not_held for a release that names such an
//     :error; :info, and an invocation without completion, are unknown.
//   - the client is the process ("p0"); Jepsen retires a process whose operation was :info.
//   - a number as the :value of a granted acquire, or the :fence of a map there, is the fence.
//   - a :value of two items, or tagged as a tuple of jepsen.independent, is a key and a value.
//   - operations of the nemesis are counted and passed over.
//
// It refuses to guess: an operation of another kind, a completion that nobody invoked, or a text that is not EDN is a
// *history.SyntaxError with line and column. It reads one form at a time, so that its memory does not grow with
// the file, apart from the operations that are under way.
package edn
