// Package results reads and writes run directories, with the run record and the result, and the
// results of suites and benches.
//
// A run is saved when it starts, when its clients are done and before it is checked, and after the
// check. Each save writes a temporary file, syncs it and renames it, so that a directory is
// readable even if the process is killed. The recording and the fault windows grow while clients
// run ([Dir.Begin]). [Create] creates a directory, [Dir.SaveRun] and [Dir.SaveResult] write to it,
// [Dir.Load] reads it. Users' scripts depend on the files' names and schemas; the folder schema has
// JSON Schemas.
//
// Passwords are redacted before they are written, see [CommandLine]. The package reads no clock.
package results
