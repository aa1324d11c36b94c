//go:build race

package checker

// raceDetector reports whether the race detector is on, which makes everything about ten times slower.
const raceDetector = true
