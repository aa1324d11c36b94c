//go:build unix

package subprocess

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// heard is the output of a shell.
type heard struct {
	lines []string
	ended error // the argument of End
	p     *Process
}

// talk runs a shell script to its end, and rejects the line "no".
func talk(t *testing.T, script string, limit int) *heard {
	t.Helper()
	h := &heard{}
	h.p = New(exec.Command("sh", "-c", script), Listener{
		Line: func(n int, line []byte) error {
			if string(line) == "no" {
				return errRefused
			}
			h.lines = append(h.lines, fmt.Sprintf("%d %s", n, line))
			return nil
		},
		End: func(err error) { h.ended = err }, Max: limit,
	})
	must(t, h.p.Start())
	h.p.End(10 * time.Second)
	return h
}

var errRefused = errors.New("refused")

func TestTalk(t *testing.T) {
	for _, row := range []struct {
		name, script string
		lines        []string
		ended        error  // why reading stopped; nil: the end of the output
		how          string // how it ended
		killed       bool
		words        string
	}{
		{"lines, numbered, without space around them", "echo one; echo; echo ' two'", []string{"1 one", "2 ", "3 two"}, nil, "", false, ""},
		{"an incomplete last line", "echo one; printf tw", []string{"1 one"}, nil, "", false, ""},
		{"an exit status and last words", "echo out of luck >&2; exit 3", nil, nil, "exit status 3", false, "out of luck"},
		{"the listener refuses a line", "echo one; echo no; echo three; exec sleep 60", []string{"1 one"}, errRefused, "signal: killed", true, ""},
		{"a line that is too long", "echo one; echo 123456789; exec sleep 60", []string{"1 one"}, ErrTooLong, "signal: killed", true, ""},
		{"an output without end", "cat /dev/zero", nil, ErrTooLong, "signal: killed", true, ""},
		{"it exits at the end of its input", "cat", nil, nil, "", false, ""},
		{"its child process ends with it", "sleep 60 >/dev/null 2>&1 & echo one; exec >&-; wait", []string{"1 one"}, nil, "signal: killed", true, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := talk(t, row.script, 8)
			how := ""
			if err := h.p.Err(); err != nil {
				how = err.Error()
			}
			if !slices.Equal(h.lines, row.lines) || !errors.Is(h.ended, row.ended) || (row.ended == nil) != (h.ended == nil) {
				t.Errorf("output %q, ended with %v; want %q and %v", h.lines, h.ended, row.lines, row.ended)
			}
			if how != row.how || h.p.Killed() != row.killed || h.p.LastWords() != row.words {
				t.Errorf("it ended with %q, killed %v, standard error %q; want %q, %v, %q", how, h.p.Killed(), h.p.LastWords(), row.how, row.killed, row.words)
			}
		})
	}
}

func TestRequestAndReply(t *testing.T) {
	answer := make(chan string, 1)
	p := New(exec.Command("cat"), Listener{Line: func(_ int, line []byte) error { answer <- string(line); return nil }})
	must(t, p.Start())
	if err := p.Send(map[string]int{"id": 1}); err != nil {
		t.Error(err)
	}
	if got := <-answer; got != `{"id":1}` {
		t.Errorf("it was sent %s", got)
	}
	p.End(time.Minute)
	if err := p.Send(1); err == nil {
		t.Error("Send to a process that has ended succeeded")
	}
}

func TestMissingCommand(t *testing.T) {
	p := New(exec.Command("/no/such/command"), Listener{Line: func(int, []byte) error { return nil }})
	if err := p.Start(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestStopContinueKill stops, resumes and kills a shell and its child process.
func TestStopContinueKill(t *testing.T) {
	grandchild := make(chan int, 1)
	p := New(exec.Command("sh", "-c", "sleep 60 & echo $!; wait"), Listener{Line: func(_ int, line []byte) error {
		pid, err := strconv.Atoi(string(line))
		grandchild <- pid
		return err
	}})
	must(t, p.Start())
	other := <-grandchild
	must(t, p.Stop())
	for _, pid := range []int{p.PID(), other} {
		seen(t, "stopped", func() bool { is, err := isStopped(pid); return is && err == nil })
	}
	if err := p.Continue(); err != nil {
		t.Error(err)
	}
	if is, err := isStopped(p.PID()); is || err != nil {
		t.Errorf("after Continue, stopped is %v, %v", is, err)
	}
	if err := p.Kill(); err != nil || !isDead(p.PID()) {
		t.Errorf("killed: %v, dead %v", err, isDead(p.PID()))
	}
	seen(t, "dead", func() bool { return isDead(other) })
	if err := p.Stop(); !errors.Is(err, os.ErrProcessDone) { // before it was waited for
		t.Errorf("stop a dead one: %v, want %v", err, os.ErrProcessDone)
	}
	p.End(0)
	for name, do := range map[string]func() error{"stop": p.Stop, "continue": p.Continue} {
		if err := do(); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%s a process that has ended: %v, want %v", name, err, os.ErrProcessDone)
		}
	}
	if err := p.Kill(); err != nil {
		t.Errorf("kill a process that has ended: %v", err)
	}
}

// seen waits until a condition holds: a signal to a group reaches its processes one after the
// other.
func seen(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(stateLimit); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it is not %s", what)
		}
	}
}

func TestEndKillsAProcessThatDoesNotExit(t *testing.T) {
	p := New(exec.Command("sleep", "60"), Listener{Line: func(int, []byte) error { return nil }})
	must(t, p.Start())
	p.End(10 * time.Millisecond)
	if !p.Killed() {
		t.Errorf("it ended with %v, want killed", p.Err())
	}
}

func TestAProcessWithoutListener(t *testing.T) {
	cmd := exec.Command("sh", "-c", "echo hello; exit 4")
	var out strings.Builder
	cmd.Stdout = &out
	p := New(cmd, Listener{})
	must(t, p.Start())
	if err := p.Err(); err == nil || err.Error() != "exit status 4" || out.String() != "hello\n" {
		t.Errorf("it ended with %v, output %q", err, out.String())
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
