//go:build race

package checker

// raceDetector tells that everything is about ten times slower.
const raceDetector = true
