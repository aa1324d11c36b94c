// Package planted has planted bugs: correct locks with one bug each, after a public report of that
// bug in a lock library. They test lockbench: a suite must catch all of them.
//
// No lock is copied. A planted bug is a lock of another package with a script that is changed in
// one place (edit), a client that sends something else (detour), a lock that returns something else
// (lie), or a different environment.
//
// They are listed separately from the locks, and their expectations name only the scenarios that
// must show the bug.
package planted
