package impls

import "strings"

// Slots is the number of hash slots of a cluster.
const Slots = 16384

// Derived names another Redis key of the same lock, in the hash slot of the lock's own key: a cluster runs no script
// whose keys lie in two slots. A key that has a hash tag keeps it; any other becomes the tag. Only a key with a closing
// brace and no tag ("a}b", "a{}b") cannot be followed: no other name hashes as it does.
func Derived(key, suffix string) string {
	if strings.Contains(key, "}") {
		return key + suffix
	}
	return "{" + key + "}" + suffix
}

// Under tells a key that begins with a prefix, or that Derived made of one which does.
func Under(prefix, key string) bool { return strings.HasPrefix(strings.TrimPrefix(key, "{"), prefix) }

// Slot is the hash slot that a cluster keeps a key in: CRC16 (XMODEM) of its hash tag modulo Slots.
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

// hashTag is the part of a key that decides its slot: between the first { and the next }, unless that is empty.
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
