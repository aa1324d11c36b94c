package checker

// RaceDetector is for the tests outside the package.
const RaceDetector = raceDetector

// Whole searches a key of up to 64 operations as a whole.
func (o Options) Whole() Options {
	o.whole = 64
	return o
}
