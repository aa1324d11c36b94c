package resp

import "strings"

// Slots is the number of hash slots of a cluster.
const Slots = 16384

// Slot returns the hash slot of a key in a cluster: CRC16 (XMODEM) of its hash tag modulo Slots.
func Slot(key string) int {
	// The tag is the part between the first { and the next }, unless that is empty.
	if _, rest, found := strings.Cut(key, "{"); found {
		if tag, _, closed := strings.Cut(rest, "}"); closed && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for _, b := range []byte(key) {
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
