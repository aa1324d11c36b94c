package resp

import (
	"cmp"
	"strconv"
	"strings"
)

// Keys returns the keys of a request, which determine the node of a cluster; nil without keys, for
// a wrong count, and if they follow options (XREAD).
func Keys(args []string) (keys []string) {
	c := commands[strings.ToUpper(args[0])]
	if c.count > 0 {
		if len(args) <= c.count {
			return nil
		}
		n, err := strconv.Atoi(args[c.count])
		if first := c.count + 1; err == nil && n > 0 && n <= len(args)-first {
			keys = args[first : first+n]
		}
		if c.key > 0 && keys != nil { // the key of the result comes first
			keys = append([]string{args[c.key]}, keys...)
		}
		return keys
	}
	last := cmp.Or(c.last, c.key)
	if last < 0 {
		last += len(args)
	}
	switch {
	case c.key == 0 || last >= len(args):
		return nil
	case c.step == 0:
		return args[min(c.key, last+1) : last+1]
	}
	for i := c.key; i <= last; i += c.step {
		keys = append(keys, args[i])
	}
	return keys
}

// ScriptCall returns the keys and the other arguments of an EVAL or EVALSHA; nil if its count of
// keys is wrong.
func (r Request) ScriptCall() (keys, args []string) {
	const first = 3
	n, err := strconv.Atoi(string(r.Arg(first - 1)))
	if err != nil || n < 0 || n > r.Len()-first {
		return nil, nil
	}
	for i := first; i < r.Len(); i++ {
		args = append(args, string(r.Arg(i)))
	}
	return args[:n:n], args[n:]
}

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
