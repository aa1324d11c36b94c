package impls

import "strings"

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
