package explain_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// story is one run in the notation of a test, with the expected causes.
type story struct {
	explain.Record
	t          testing.TB
	name       string
	turns      bool              // the nodes executed the commands in the order in which they were sent
	logged     bool              // what changed the data is known from a log
	digests    map[string]string // of scripts, by the name in the text
	violations []checker.Violation
	want       []verdicts.Cause
}

// newStory begins a run that is written by hand:
//
//	lock token mutex 300 permits=2 turns
//	script unlock : if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0
//	c1 acquire 0-2 ok tok=a valid=300 : SET job a NX PX 300 -> OK
//	c1 use 2-480
//	c2 acquire 10-302 ok : SET job b NX PX 300 -> (nil) @20-21 | SET job b NX PX 300 -> OK @301-302
//	c1 background 310-311 : EVALSHA unlock 1 job a -> 0
//	fault kill-server n0 400-500 ending=490
//	effect n0 400 restarted lost=job
//	violation exclusive-use 303-480 c1 c2 = lease-overrun
//
// Times are milliseconds. The commands of a call share its time evenly unless they have their own;
// n2:SET goes to node 2, n2+a:SET over another connection of the client. A reply of ? was lost. An
// effect belongs to the fault above it on its node, or without a node. The run begins at
// 946684800000, in milliseconds since 1970. A script that is not in the text is the catalogue's of
// that name. With "logged" the record has effects, as an append-only file has them.
func newStory(t testing.TB, name string) *story {
	return &story{t: t, name: name, Record: explain.Record{Scripts: map[string]string{}}, digests: map[string]string{}}
}

func (s *story) add(line string) {
	call, rest, _ := strings.Cut(line, " : ")
	words := strings.Fields(call)
	switch words[0] {
	case "lock":
		s.addHeader(words[1:])
		return
	case "script":
		s.addScript(words[1], rest)
		return
	case "fault":
		s.addFault(words[1:])
		return
	case "effect":
		s.addEffect(words[1:])
		return
	case "violation":
		s.addViolation(words[1:])
		return
	}
	from, to := s.span(words[2])
	id := uint64(0)
	if words[1] != "background" {
		id = uint64(len(s.Ops)) + 1
		op := history.Operation{ID: id, Client: words[0], Op: operations[words[1]], Key: "job", Call: from, Return: to}
		if op.Op == history.OpInvalid {
			s.t.Fatalf("%s: no operation %q", s.name, words[1])
		}
		for _, w := range words[3:] {
			s.set(&op, w)
		}
		s.Ops = append(s.Ops, op)
	}
	if words[0] == "nobody" {
		words[0] = ""
	}
	s.addCommands(words[0], id, rest, from, to)
}

func (s *story) addHeader(words []string) {
	if s.Header.Lock = ""; len(words) > 2 && !strings.Contains(words[2], "=") {
		s.Header.Lock, words = words[0], words[1:]
	}
	s.Header.Kind, s.Header.Permits, s.Header.Epoch = history.Kind(words[0]), 1, 946684800_000_000_000
	s.Header.Lease = s.millis(words[1])
	for _, w := range words[2:] {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "permits":
			s.Header.Permits = int(s.number(value))
		case "quorum":
			s.Header.Quorum = int(s.number(value))
		case "copies":
			s.Header.Copies = true
		case "renews":
			s.Header.Renews = true
		case "turns":
			s.turns = true
		case "logged":
			s.logged = true
		case "clocks":
			s.Header.ClockError = s.millis(value)
		}
	}
}

func (s *story) addScript(name, source string) {
	sum := sha1.Sum([]byte(source))
	s.digests[name] = hex.EncodeToString(sum[:])
	s.Scripts[s.digests[name]] = source
}

func (s *story) addFault(words []string) {
	w := history.Window{Fault: words[0], Node: -1, Confirmed: true}
	for _, word := range words[1:] {
		switch {
		case word == "unconfirmed":
			w.Confirmed = false
		case strings.HasPrefix(word, "ending="):
			w.Ending = s.millis(word[len("ending="):])
		case strings.HasPrefix(word, "n"):
			w.Node = int(s.number(word[1:]))
		case strings.HasPrefix(word, "c"):
			w.Client = word
		default:
			w.Start, w.End = s.span(word)
			w.Ending = w.End
		}
	}
	s.Faults = append(s.Faults, w)
	faults.Describe(s.Faults)
}

var operations = map[string]history.Op{"acquire": history.Acquire, "extend": history.Extend, "release": history.Release, "use": history.Use,
	"write": history.Write, "lost": history.Lost}

var outcomes = map[string]history.Outcome{"ok": history.OK, "busy": history.Busy, "not_held": history.NotHeld, "lost": history.LostHold,
	"rejected": history.Rejected, "fail": history.Fail, "unknown": history.Unknown}

func (s *story) set(op *history.Operation, word string) {
	name, value, _ := strings.Cut(word, "=")
	switch name {
	case "shared":
		op.Mode = history.Shared
	case "tok":
		op.Token = value
	case "valid":
		op.ValidUntil = s.millis(value)
	case "asked":
		op.Asked = s.millis(value)
	case "fence":
		op.Fence = uint64(s.number(value))
	case "read":
		op.Read, op.HasValue = s.number(value), true
	case "wrote":
		op.Wrote, op.HasValue = s.number(value), true
	default:
		var ok bool
		if op.Outcome, ok = outcomes[word]; !ok {
			s.t.Fatalf("%s: no field or outcome %q", s.name, word)
		}
	}
}

func (s *story) addCommands(client string, op uint64, text string, from, to int64) {
	if text == "" {
		return
	}
	parts := strings.Split(text, " | ")
	share := (to - from) / int64(len(parts))
	for i, part := range parts {
		c := history.Command{Client: client, Op: op, Sent: from + int64(i)*share, Replied: from + int64(i+1)*share}
		if client != "" { // its connection, which no other client has
			c.Conn = uint64(client[1]-'0') + 1
		}
		request, at, timed := strings.Cut(part, " @")
		if timed {
			c.Sent, c.Replied = s.span(strings.TrimSpace(at))
		}
		request, reply, ok := strings.Cut(strings.TrimSpace(request), " -> ")
		if !ok {
			s.t.Fatalf("%s: %q: no reply", s.name, part)
		}
		if c.Reply = reply; reply == "?" {
			c.Reply, c.Replied = "", 0
		}
		words := strings.Fields(request)
		if node, name, ok := strings.Cut(words[0], ":"); ok {
			words[0] = name
			node, other, _ := strings.Cut(node, "+")
			c.Conn += uint64(100 * len(other))
			c.Node = int(s.number(node[1:]))
		}
		if c.Name, c.Args = words[0], words[1:]; strings.HasPrefix(c.Name, "EVAL") {
			c.Script = s.digests[c.Args[0]]
		}
		s.Commands = append(s.Commands, c)
	}
}

func (s *story) addEffect(words []string) {
	e := history.Effect{Node: int(s.number(words[0][1:])), At: s.millis(words[1]), What: words[2]}
	for _, w := range words[3:] {
		switch name, value, _ := strings.Cut(w, "="); name {
		case "lost":
			e.Lost = append(e.Lost, value)
		case "kept":
			e.Kept = append(e.Kept, value)
		case "by":
			e.By = s.millis(value)
		case "ppm":
			e.PPM = s.number(value)
		case "turn":
			e.Known, s.turns, e.Turn = true, s.turns || value != "0", uint64(s.number(value))
		}
	}
	for i := len(s.Faults) - 1; i >= 0; i-- {
		if w := &s.Faults[i]; w.Fault != "" && (w.Node == e.Node || w.Node < 0) {
			w.Effects = append(w.Effects, e)
			return
		}
	}
	s.Faults = append(s.Faults, history.Window{Node: e.Node, Start: e.At, End: e.At, Confirmed: true, Effects: []history.Effect{e}})
}

// addViolation adds a violation.
func (s *story) addViolation(words []string) {
	from, to := s.span(words[1])
	at := slices.Index(words, "=")
	v := checker.Violation{Property: verdicts.Property(words[0]), Key: "job", At: from, Lasted: max(to-from, 0), Clients: slices.Clone(words[2:at])}
	s.violations, s.want = append(s.violations, v), append(s.want, verdicts.Cause(words[at+1]))
}

// span reads "0-2"; "0-" never ended.
func (s *story) span(text string) (from, to int64) {
	a, b, ok := strings.Cut(text, "-")
	switch {
	case !ok:
		return s.millis(a), s.millis(a)
	case b == "":
		return s.millis(a), 0
	}
	return s.millis(a), s.millis(b)
}

func (s *story) millis(text string) int64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		s.t.Fatalf("%s: %v", s.name, err)
	}
	return int64(f * 1e6)
}

func (s *story) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.t.Fatalf("%s: %v", s.name, err)
	}
	return n
}

// counted returns the operations by outcome, as a verdict has them.
func (s *story) counted() checker.Operations {
	out := checker.Operations{}
	for _, op := range s.Ops {
		if out[op.Op.String()] == nil {
			out[op.Op.String()] = map[string]int{}
		}
		out[op.Op.String()][op.Outcome.String()]++
	}
	return out
}

// recorded returns the record, with the order of the commands or of the changes, if it is known.
func (s *story) recorded(ctx context.Context, srv *fakeredis.Server) explain.Record {
	switch {
	case s.turns:
		return s.dispatched()
	case s.logged:
		rec := s.Record
		rec.Effects = slices.DeleteFunc(explain.Derive(ctx, rec, srv), func(e history.Executed) bool { return len(e.Changes) == 0 })
		return rec
	}
	return s.Record
}

// said returns the sentence that ends a story.
func said(a explain.Answer) string {
	return a.Says.Text(func(part any) string { return fmt.Sprint(part) })
}

// dispatched returns the record as the simulator makes it: each node executed the commands in the
// order in which they were sent.
func (s *story) dispatched() explain.Record {
	out := s.Record
	out.Commands = slices.Clone(s.Commands)
	order := make([]int, len(out.Commands))
	for i := range order {
		order[i] = i
	}
	middle := func(c *history.Command) int64 { return (max(c.Replied, c.Sent) + c.Sent) / 2 }
	slices.SortStableFunc(order, func(i, j int) int { return int(middle(&out.Commands[i]) - middle(&out.Commands[j])) })
	turns := map[int]uint64{}
	for _, i := range order {
		c := &out.Commands[i]
		turns[c.Node]++
		c.Turn, c.Ran = turns[c.Node], middle(c)
	}
	return out
}
