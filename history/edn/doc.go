// Package edn reads the lock histories of Jepsen tests, so that lockbench can check them.
//
// It reads what Jepsen and Knossos write: a map per line, or one vector of maps, with the fields
// :type (:invoke, :ok, :fail, :info), :f (:acquire, :release), :process, :value, and optionally
// :time in nanoseconds. It pairs each invocation with its completion and returns operations of
// package history:
//
//   - :ok becomes ok; :fail becomes fail, or not_held for a release whose :error says so; :info,
//     and an invocation without a completion, become unknown.
//   - the process is the client ("p0"); Jepsen retires a process after an :info.
//   - a number as the :value of a granted acquire, or the :fence of a map there, is the fence.
//   - a :value of two items, or tagged as a tuple of jepsen.independent, is a key and a value.
//   - operations of the nemesis are skipped.
//
// An operation of another kind, a completion without an invocation, or a text that is not EDN is a
// *history.SyntaxError with line and column. The package reads one operation at a time: its memory
// grows only with the operations under way.
package edn
