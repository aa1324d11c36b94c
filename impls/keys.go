package impls

import "strings"

// Slots is the number of hash slots of a cluster.
const Slots = 16384

// Derived returns another Redis key of the same lock in the same hash slot, as scripts on a cluster
// require. It keeps the hash tag of a key that has one, and makes any other key the tag. There is
// no such key for one with a closing brace and no tag ("a}b", "a{}b").
func Derived(key, suffix string) string {
	if strings.Contains(key, "}") {
		return key + suffix
	}
	return "{" + key + "}" + suffix
}

// Under reports whether a key begins with a prefix, or was derived from one that does.
func Under(prefix, key string) bool { return strings.HasPrefix(strings.TrimPrefix(key, "{"), prefix) }

// Slot returns the hash slot of a key in a cluster: CRC16 (XMODEM) of its hash tag modulo Slots.
func Slot(key string) int {
	var crc uint16
	for _, b := range []byte(hashTag(key)) {
		crc ^= uint16(b) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return int(crc) % Slots
}

// hashTag returns the part of a key that determines its slot: between the first { and the next },
// unless that is empty.
func hashTag(key string) string {
	_, rest, found := strings.Cut(key, "{")
	if !found {
		return key
	}
	tag, _, closed := strings.Cut(rest, "}")
	if !closed || tag == "" {
		return key
	}
	return tag
}
