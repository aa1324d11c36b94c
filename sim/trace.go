package sim

// trace is everything that happened, in order: always as a hash, and as lines on request. Two runs
// are the same if their hashes are equal.
type trace struct {
	hash  uint64
	keep  bool
	lines []string
}

// FNV-1a.
const (
	hashStart = 14695981039346656037
	hashPrime = 1099511628211
)

// mix adds numbers to a hash.
func mix(h uint64, numbers ...uint64) uint64 {
	for _, n := range numbers {
		for range 8 {
			h = (h ^ (n & 0xff)) * hashPrime
			n >>= 8
		}
	}
	return h
}

// mixText adds a text and its end to a hash.
func mixText[T string | []byte](h uint64, s T) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * hashPrime
	}
	return (h ^ 0xff) * hashPrime
}

func hashArgs(args []string) uint64 {
	h := uint64(hashStart)
	for _, a := range args {
		h = mixText(h, a)
	}
	return h
}

const (
	deliverRequest optionKind = iota // a request reaches its node and is executed
	deliverReply                     // a reply reaches its client
	replicate                        // the replica applies what the primary has written
	waitForTime                      // time passes without an arrival
	placeFault                       // a fault
	arranged                         // a timer of the driver is due
	giveUp                           // none: the rest of this schedule is known
)

// optionKind is the kind of an option.
type optionKind uint8
