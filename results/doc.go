// Package results is what a run leaves behind: the run directory, the run record, and the result.
//
// A run is saved three times: when it started, when its clients are done and before anything is judged, and when it is judged. Each
// save is a temporary file, synced, and renamed over the last, so that a kill at any moment leaves a directory that can be read.
// What grows while clients run, the recording and the fault windows, is there with its first lines from the start and added to ([Dir.Begin]).
// [Create] makes the directory, [Dir.SaveRun] and [Dir.SaveResult] fill it, [Load] reads it back. The files, their
// names and their schemas are a contract with other people's scripts; JSON Schemas lie in the folder schema.
//
// It refuses to put a secret into a file: see [Redact]. It reads no clock: times are passed in. It knows nothing of how a run is
// made or shown.
package results
