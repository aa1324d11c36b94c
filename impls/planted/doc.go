// Package planted is the tester's own test: correct locks with one bug planted in each, after a public report of that bug in
// some lock library. A suite that lets one of them pass proves nothing by passing.
//
// No lock is copied. A mutant is a variant of another package with something small between it and the world: a script whose text
// is changed in one place ([edit]), a client that sends something else ([detour]), a lock that answers something else ([lie]), or an
// environment that differs. The correct code stays as it is shipped.
//
// The package refuses to offer its locks: they are listed apart, each says of which variant it is a mutant, and their
// expectations name only the scenarios that must show the bug. What no scenario shows, the conformance kit does.
package planted
