package sim

import (
	"encoding/hex"
	"strings"
)

// tokens gives the random words of a lock that draws them from the process's random source names that follow from the seed: on its way
// to a node a word becomes its name, in a reply a name becomes its word. So nothing that happens depends on what the lock drew.
type tokens struct {
	seed   [32]byte
	names  map[string]string // by word
	words  map[string]string // by name
	number uint64            // of words so far
}

func newTokens(seed [32]byte) *tokens {
	return &tokens{seed: seed, names: map[string]string{}, words: map[string]string{}}
}

// leastToken is the length in bytes from which a word may be a token: half of a UUID, and more than any number.
const leastToken = 16

// drawn reports whether a word comes from a random source: hardly any of its bytes would be text otherwise. A word of 24 random bytes passes
// for text once in 10^10.
func drawn(word string) bool {
	return len(word) >= leastToken && strings.ContainsFunc(word, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r > '~' })
}

// rename names the random words of a request.
func (t *tokens) rename(args []string) {
	for i, word := range args[1:] {
		if drawn(word) {
			args[i+1] = t.name(word)
		}
	}
}

// name is as long as the word, and text.
func (t *tokens) name(word string) string {
	if name, ok := t.names[word]; ok {
		return name
	}
	t.number++
	var b []byte
	for i := uint64(0); hex.EncodedLen(len(b)) < len(word); i++ {
		h := mix(mix(mixText(hashStart, t.seed[:]), t.number), i)
		for range 8 {
			b, h = append(b, byte(h)), h>>8
		}
	}
	name := hex.EncodeToString(b)[:len(word)]
	t.names[word], t.words[name] = name, word
	return name
}

// restore returns a reply back the words that were named.
func (t *tokens) restore(reply []byte) []byte {
	text := string(reply)
	for name, word := range t.words {
		text = strings.ReplaceAll(text, name, word)
	}
	return []byte(text)
}
