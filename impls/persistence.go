package impls

// Persistence is what a server keeps of its data when it is killed and started again.
type Persistence string

// The persistence settings.
const (
	PersistNone     Persistence = "none"     // nothing
	PersistEverySec Persistence = "everysec" // append-only file, written out every second
	PersistAlways   Persistence = "always"   // append-only file, written out before every reply
)

// A killed process, unlike a machine that lost its power, loses nothing that it had handed to the kernel, and Redis hands
// the append-only file to the kernel before it replies. Under Kill both append-only settings therefore keep everything
// that was acknowledged; they differ in what a reply costs.
