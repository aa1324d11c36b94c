package history

// Moment is a named step of a client at which a fault can be placed.
type Moment string

// The moments that clients announce, in the order of one round.
const (
	Calling       Moment = "calling"        // about to acquire
	Granted       Moment = "granted"        // the acquire returned and the client knows it holds
	Refused       Moment = "refused"        // the acquire returned without a grant
	Entered       Moment = "entered"        // inside the critical section, the store has been read
	BeforeRelease Moment = "before-release" // out of the section, about to release
	Released      Moment = "released"       // the release returned
)
