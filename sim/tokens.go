package sim

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// tokens replaces the random words of a lock that reads the process's random source by names that
// follow from the seed: a word in a request becomes its name, a name in a reply becomes its word.
// So nothing that happens depends on what the lock drew.
type tokens struct {
	seed   [32]byte
	names  map[string]string // by word
	words  map[string]string // by name
	number uint64            // number of words so far
}

func newTokens(seed [32]byte) *tokens {
	return &tokens{seed: seed, names: map[string]string{}, words: map[string]string{}}
}

// leastToken is the length in bytes from which a word may be a token: half of a UUID, and more than
// any number.
const leastToken = 16

// rename replaces the random words of a request by their names. A word comes from a random source
// if it has bytes that are not text, as 24 random ones have but once in 10^10.
func (t *tokens) rename(args []string) {
	isBinary := func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r > '~' }
	for i, word := range args[1:] {
		if len(word) < leastToken || !strings.ContainsFunc(word, isBinary) {
			continue
		}
		if _, named := t.names[word]; !named { // a name is as long as the word
			t.number++
			var b []byte
			for i := uint64(0); hex.EncodedLen(len(b)) < len(word); i++ {
				b = binary.LittleEndian.AppendUint64(b, mix(mixText(hashStart, t.seed[:]), t.number, i))
			}
			name := hex.EncodeToString(b)[:len(word)]
			t.names[word], t.words[name] = name, word
		}
		args[i+1] = t.names[word]
	}
}

func (t *tokens) restore(reply []byte) []byte {
	text := string(reply)
	for name, word := range t.words {
		text = strings.ReplaceAll(text, name, word)
	}
	return []byte(text)
}
