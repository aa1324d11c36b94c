package subject

import (
	"strings"
	"sync"
)

// tailBytes is how much of what a child says on standard error is kept.
const tailBytes = 4 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex // protects kept
	kept []byte
}

// Write keeps the end of p.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailBytes; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

// lines is what was kept, each line indented for a message of several; "" for nothing.
func (t *tail) lines() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.kept))
	if text == "" {
		return ""
	}
	var out strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		out.WriteString("\n    " + printable(line))
	}
	return out.String()
}

// printable takes control characters out of a line that is shown on a terminal.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			return '?'
		}
		return r
	}, line)
}
