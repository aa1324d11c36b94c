package upstream

import (
	"bytes"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
)

// Labelled returns the stacks of the goroutines that carry the labels, given as names and values:
// one for each group that does the same, as lines of "function file:line". Goroutines inherit the
// labels of those that start them.
func Labelled(labels ...string) (stacks []string) {
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return []string{fmt.Sprintf("(no stacks: %v)", err)}
	}
	for group := range strings.SplitSeq(all.String(), "\n\n") {
		carries := true
		for label := range slices.Chunk(labels, 2) {
			carries = carries && strings.Contains(group, fmt.Sprintf("%q:%q", label[0], label[1]))
		}
		if carries {
			stacks = append(stacks, frames(group))
		}
	}
	return stacks
}

// frames formats a group of a profile.
func frames(group string) string {
	var out []string
	for line := range strings.SplitSeq(group, "\n") {
		rest, ok := strings.CutPrefix(line, "#\t0x")
		if !ok {
			continue
		}
		if fields := strings.Fields(rest); len(fields) >= 3 && len(out) < ShownFrames {
			out = append(out, "\t"+fields[1]+" "+fields[2])
		}
	}
	return strings.Join(out, "\n")
}

// ShownFrames is how many lines of a stack a message shows.
const ShownFrames = 10

// MutexOf returns who keeps the mutex for which the first stack waits: lock, unless the waiting
// call is a library's, of the client or of the server.
func MutexOf(lock, stack string) string {
	for line := range strings.SplitSeq(stack, "\n") {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case name == "", strings.HasSuffix(name, ":"), strings.HasPrefix(name, "sync."), strings.HasPrefix(name, "internal/"), strings.HasPrefix(name, "runtime"):
		case strings.Contains(name, "redis/go-redis/"):
			return "go-redis"
		case strings.Contains(name, "alicebob/miniredis/"):
			return "miniredis"
		default:
			return lock
		}
	}
	return lock
}
