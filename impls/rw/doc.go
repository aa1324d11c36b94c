// Package rw has the read-write locks of the sources, each as its article prints it, defects
// included: rw-owner and its intended form, rw-owner-fixed; rw-pair, the "single-node edition";
// rw-hash, the "cluster edition".
//
// Their defects are kept: if a script cannot distinguish two readers, neither does the handle, and
// if a release has no reply, the handle assumes that it succeeded. A read-write lock to adopt is
// rw-lease, in package beyond.
//
// All four share one handle type, which keeps its holds and classifies replies. A [protocol] has
// the requests.
package rw
