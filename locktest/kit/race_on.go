//go:build race

package kit

// raceDetector reports whether the race detector is on.
const raceDetector = true
