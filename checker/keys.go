package checker

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/history"
)

// names reports whether an argument of the command contains key.
func names(c history.Command, key string) bool {
	return slices.ContainsFunc(c.Args, func(arg string) bool { return strings.Contains(arg, key) })
}

// share reports whether two lists have a key in common.
func share(a, b []string) bool {
	return slices.ContainsFunc(a, func(key string) bool { return slices.Contains(b, key) })
}
