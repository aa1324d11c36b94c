//go:build !race

package locktest_test

// raceDetector tells whether the race detector is on.
const raceDetector = false
