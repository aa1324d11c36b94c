package fakeredis

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/internal/resp"
)

// blocking lists the commands that wait for data, with the index of their time-out argument; a
// negative index counts from the end.
var blocking = map[string]int{"BLPOP": -1, "BRPOP": -1, "BLMOVE": -1, "BRPOPLPUSH": -1, "BZPOPMIN": -1, "BZPOPMAX": -1, "BLMPOP": 1}

// Blocks reports whether a command, in upper case, waits for data.
func Blocks(name string) bool {
	_, blocks := blocking[name]
	return blocks
}

// Waits returns how long a command, whose name is in upper case, waits at most for data, or for how
// many replicas; 0 means for ever. refusal is the reply of a node that does not execute it.
func (n *Node) Waits(args []string) (most time.Duration, replicas int, refusal []byte) {
	text := cmp.Or(n.refusal(args[0], args, false), n.misplaced(args))
	switch {
	case text != "":
	case args[0] == "WAIT":
		replicas, most, text = waitsFor(args)
	default:
		most, text = Timeout(args)
	}
	if text != "" {
		refusal = failure(text)
	}
	return most, replicas, refusal
}

// Timeout returns the time-out of a command that waits for data, whose name is in upper case, or
// the text of an error.
func Timeout(args []string) (d time.Duration, text string) {
	at := blocking[args[0]]
	if at < 0 {
		at += len(args)
	}
	seconds, ok := decimal(args[at])
	switch {
	// Redis counts milliseconds
	case !ok, strings.ContainsAny(args[at], " \t\r\n"), math.IsNaN(seconds), seconds > math.MaxInt64/1000:
		return 0, "ERR timeout is not a float or out of range"
	case seconds < 0:
		return 0, "ERR timeout is negative"
	}
	return time.Duration(min(seconds, math.MaxInt64/float64(time.Second)-1) * float64(time.Second)), ""
}

// Take executes at an instant a command that waits for data, whose name is in upper case. If there
// are no data, ok is false, and the reply is that after the command's time-out.
func (n *Node) Take(s *Session, args []string, t time.Time) (reply []byte, ok bool) {
	n.Tick(t)
	reply, ok = n.take(s, args)
	n.sync(t)
	return reply, ok
}

func (n *Node) take(s *Session, args []string) (reply []byte, ok bool) {
	switch name := args[0]; name {
	case "BLPOP", "BRPOP", "BZPOPMIN", "BZPOPMAX":
		for _, key := range args[1 : len(args)-1] {
			if reply, ok := n.popFrom(s, name[1:], key); ok {
				return reply, true
			}
		}
		return null(s, "*-1"), false
	case "BLMOVE":
		reply = n.alone([]string{"LMOVE", args[1], args[2], args[3], args[4]})
	case "BRPOPLPUSH":
		reply = n.alone([]string{"RPOPLPUSH", args[1], args[2]})
	case "BLMPOP":
		reply = n.alone(append([]string{"LMPOP"}, args[2:]...))
	}
	if r, _ := resp.ParseReply(reply); !r.IsNil() {
		return reply, true
	}
	return null(s, "*-1"), false
}

// Null returns the reply to a command that has waited in vain.
func (s *Session) Null() []byte { return null(s, "*-1") }

// null returns the null reply, which in RESP2 has a type.
func null(s *Session, resp2 string) []byte {
	if s.peer.Resp3 {
		return []byte("_\r\n")
	}
	return []byte(resp2 + "\r\n")
}

// popFrom pops from one key, and returns the key with the value.
func (n *Node) popFrom(s *Session, name, key string) ([]byte, bool) {
	b := n.alone([]string{name, key})
	r, ok := resp.ParseReply(b)
	switch {
	case !ok || r.IsNil():
		return nil, false
	case r.IsError():
		return b, true
	case name == "LPOP" || name == "RPOP":
		return Push(false, []string{key, string(r.Str())}), true
	}
	popped := slices.Collect(r.Items()) // a member and its score
	if len(popped) == 0 {
		return nil, false
	}
	member, score := string(popped[0].Str()), string(popped[1].Str())
	if s.peer.Resp3 {
		return []byte("*3\r\n" + bulk(key) + bulk(member) + "," + score + "\r\n"), true
	}
	return Push(false, []string{key, member, score}), true
}

func bulk(s string) string { return "$" + strconv.Itoa(len(s)) + "\r\n" + s + "\r\n" }

// atOnce runs a blocking command that must not wait, in a transaction or a script.
func (n *Node) atOnce(s *Session, name string, args []string) {
	args = upper(name, args)
	if _, text := Timeout(args); text != "" {
		s.peer.WriteError(text)
		return
	}
	b, there := n.take(s, args)
	if !there && (name == "BLMOVE" || name == "BRPOPLPUSH") {
		b = null(s, "$-1")
	}
	s.peer.WriteRaw(string(b))
}

// waitsFor returns for how many replicas a WAIT waits, and how long, or the text of an error.
func waitsFor(args []string) (replicas int, most time.Duration, text string) {
	replicas, err := strconv.Atoi(args[1])
	millis, late := strconv.Atoi(args[2])
	switch {
	case err != nil:
		text = "ERR value is not an integer or out of range"
	case late != nil:
		text = "ERR timeout is not an integer or out of range"
	case millis < 0:
		text = "ERR timeout is negative"
	}
	return replicas, time.Duration(millis) * time.Millisecond, text
}
