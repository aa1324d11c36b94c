// Package rw is the read-write locks of the sources, each as its article prints it, defects included: rw-owner and what it
// was meant to be, rw-owner-fixed; rw-pair, the "single-node edition"; rw-hash, the "cluster edition".
//
// They are here to be judged. The package refuses to mend them: where a script cannot tell two readers apart, the
// handle does not either, and where a release answers nothing, the handle believes that it released. A read-write lock to
// adopt is rw-lease, in package beyond.
//
// One handle type serves all four. A [protocol] says which request takes a hold in a mode and which gives it back; the
// handle keeps the holds it believes in, innermost last, and turns replies into the errors of package impls.
package rw
