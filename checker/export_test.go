package checker

// RaceDetector is for the tests outside the package.
const RaceDetector = raceDetector
