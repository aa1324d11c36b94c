package checker

// RaceDetector is for the tests outside the package.
const RaceDetector = raceDetector

// Whole has a key searched as one, of up to 64 operations.
func (o Options) Whole() Options {
	o.whole = 64
	return o
}
