package subprocess

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
)

func TestReceive(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       []int
		err        error // nil: any but io.EOF
	}{
		{"lines", "1\n2\n", []int{1, 2}, io.EOF},
		{"an empty line is skipped", "\n 1 \n\n", []int{1}, io.EOF},
		{"the last needs no newline", "1\n2", []int{1, 2}, io.EOF},
		{"no JSON", "1\n{", []int{1}, nil},
		{"too long", "1\n" + strings.Repeat("2", 100) + "\n", []int{1}, ErrTooLong},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := NewReader(strings.NewReader(row.text), 20)
			for _, want := range row.want {
				var got int
				if err := r.Receive(&got); err != nil || got != want {
					t.Fatalf("got %d, %v; want %d", got, err, want)
				}
			}
			var more int
			switch err := r.Receive(&more); {
			case row.err != nil && !errors.Is(err, row.err), row.err == nil && (err == nil || errors.Is(err, io.EOF)):
				t.Errorf("then %d, %v; want %v", more, err, row.err)
			}
		})
	}
}

// TestALineLongerThanTheBuffer is read whole.
func TestALineLongerThanTheBuffer(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	got, err := NewReader(strings.NewReader(long+"\nrest"), 0).next()
	if err != nil || string(got) != long {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestCalls(t *testing.T) {
	var c Calls[string]
	first, answered := c.Open()
	second, _ := c.Open()
	if unanswered := c.Number(); first != 1 || second != 2 || unanswered != 3 {
		t.Errorf("numbers %d, %d, %d; want 1, 2, 3", first, second, unanswered)
	}
	for number, want := range map[int64]bool{first: true, second: true, 3: false, 77: false} {
		if got := c.Answer(number, "yes"); got != want {
			t.Errorf("request %d was open: %v, want %v", number, got, want)
		}
	}
	if got := <-answered; got != "yes" {
		t.Errorf("the reply is %q", got)
	}
	if c.Answer(first, "again") {
		t.Error("a request was answered twice")
	}
}

// TestLinesAreNotMixed writes from two goroutines to a reader that takes a byte at a time.
func TestLinesAreNotMixed(t *testing.T) {
	in, out := io.Pipe()
	w := NewWriter(out)
	var group sync.WaitGroup
	for _, text := range []string{strings.Repeat("a", 50), strings.Repeat("b", 50)} {
		group.Go(func() {
			for range 100 {
				if err := w.Send(text); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { group.Wait(); out.Close() }()
	r, n := NewReader(in, 0), 0
	for ; ; n++ {
		var got string
		if err := r.Receive(&got); err != nil {
			break
		}
		if strings.Trim(got, got[:1]) != "" {
			t.Fatalf("two lines are mixed: %q", got)
		}
	}
	if n != 200 {
		t.Errorf("%d lines, want 200", n)
	}
}

func TestWords(t *testing.T) {
	long := strings.Repeat("x", 3*maxWords)
	for _, row := range []struct {
		name   string
		writes []string
		want   string
	}{
		{"nothing", nil, ""},
		{"the end of the output", []string{"first\n", long, "last"}, long[:maxWords-len("last")] + "last"},
		{"a Go program that panics: the reason, and then the goroutines", []string{"chatter\npan", "ic: oh\n\ngoroutine 1:\n", long}, ("panic: oh\n\ngoroutine 1:\n" + long)[:maxWords]},
		{"the word panic in a message", []string{"do not panic: it is fine"}, "do not panic: it is fine"},
		{"the stack of a runtime", []string{"runtime: goroutine stack exceeds\nfatal error: stack overflow\n"}, "runtime: goroutine stack exceeds\nfatal error: stack overflow"},
		{"control characters, a bidirectional mark", []string{"\x1b[2Jred\ta\r\n\u202ex\n"}, "\\x1b[2Jred a\n\\u202ex"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var w stderrTail
			for _, text := range row.writes {
				if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
					t.Fatal(n, err)
				}
			}
			if got := w.String(); got != row.want {
				t.Errorf("%d bytes, …%.40q; want %d, …%.40q", len(got), got[max(0, len(got)-40):], len(row.want), row.want[max(0, len(row.want)-40):])
			}
		})
	}
}
