package checker

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/history"
)

// corpusCase is one labelled history of the corpus, as testdata/corpus.txt writes it.
type corpusCase struct {
	name       string // cause/what happened
	header     history.Header
	ops        []history.Operation
	commands   []history.Command
	faults     []history.Window
	violations []Violation // each with the cause that it must be given
}

// parseCorpus reads the short form in which the corpus is written by hand:
//
//	== lease-overrun/token-pause
//	lock token mutex 300 [permits=2]
//	c1 acquire 0-1 ok tok=t1 valid=300 : SET lb:job t1 PX 300 NX -> OK | GET lb:job -> "t1" @0.5-0.7
//	c1 use 1-480
//	c1 background 100-101 : EVALSHA renew.lua 1 lb:job t1 300 -> 1
//	fault pause-client c1 12-480
//	violation exclusive-use 303 c1 c2
//
// Times are milliseconds. The commands of a call share its time evenly unless they say when; n2:SET goes to node 2, n2+a:SET over
// another connection of the client; a
// reply of ? was never seen. A violation's cause is the first part of the case's name unless cause= says otherwise.
func parseCorpus(text string) ([]corpusCase, error) {
	var cases []corpusCase
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if name, ok := strings.CutPrefix(line, "== "); ok {
			cases = append(cases, corpusCase{name: name})
			continue
		}
		if len(cases) == 0 {
			return nil, fmt.Errorf("line %d: no case has begun", n+1)
		}
		if err := cases[len(cases)-1].add(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return cases, nil
}

func (c *corpusCase) add(line string) error {
	call, commands, _ := strings.Cut(line, " : ")
	words := strings.Fields(call)
	if len(words) < 3 {
		return fmt.Errorf("%q: too short", line)
	}
	switch words[0] {
	case "lock":
		return c.addHeader(words[1:])
	case "fault":
		return c.addFault(words[1:])
	case "violation":
		return c.addViolation(words[1:])
	}
	from, to, err := spanOf(words[2])
	if err != nil {
		return err
	}
	if words[1] != "background" {
		if err := c.addOperation(words, from, to); err != nil {
			return err
		}
	}
	return c.addCommands(words[0], commands, from, to)
}

func (c *corpusCase) addHeader(words []string) error {
	lease, err := millis(words[2])
	c.header = history.Header{Lock: words[0], Kind: history.Kind(words[1]), Lease: lease, Permits: 1}
	for _, w := range words[3:] {
		if n, ok := strings.CutPrefix(w, "permits="); ok {
			c.header.Permits, err = strconv.Atoi(n)
		}
	}
	return err
}

func (c *corpusCase) addFault(words []string) (err error) {
	w := history.Window{Fault: words[0], Node: -1, Confirmed: true}
	for _, word := range words[1:] {
		switch {
		case word == "unconfirmed":
			w.Confirmed = false
		case strings.HasPrefix(word, "n"):
			w.Node, err = strconv.Atoi(word[1:])
		case strings.HasPrefix(word, "c"):
			w.Client = word
		default:
			w.Start, w.End, err = spanOf(word)
		}
		if err != nil {
			return err
		}
	}
	c.faults = append(c.faults, w)
	return nil
}

func (c *corpusCase) addViolation(words []string) (err error) {
	cause, _, _ := strings.Cut(c.name, "/")
	v := Violation{Property: history.Property(words[0]), Cause: history.Cause(cause), Key: "job"}
	end := int64(0)
	if v.At, end, err = spanOf(words[1]); err != nil {
		return err
	}
	v.Lasted = max(end-v.At, 0)
	for _, w := range words[2:] {
		if other, ok := strings.CutPrefix(w, "cause="); ok {
			v.Cause = history.Cause(other)
			continue
		}
		v.Clients = append(v.Clients, w)
	}
	c.violations = append(c.violations, v)
	return nil
}

var corpusOps = map[string]history.Op{
	"acquire": history.Acquire, "extend": history.Extend, "release": history.Release,
	"use": history.Use, "write": history.Write, "lost": history.Lost,
}

var corpusOutcomes = map[string]history.Outcome{
	"ok": history.OK, "busy": history.Busy, "not_held": history.NotHeld, "lost": history.LostHold,
	"rejected": history.Rejected, "fail": history.Fail, "unknown": history.Unknown,
}

func (c *corpusCase) addOperation(words []string, from, to int64) error {
	op := history.Operation{
		ID: uint64(len(c.ops) + 1), Client: words[0], Op: corpusOps[words[1]], Key: "job", Call: from, Return: to,
	}
	if op.Op == history.OpInvalid {
		return fmt.Errorf("no operation %q", words[1])
	}
	for _, w := range words[3:] {
		if err := setField(&op, w); err != nil {
			return err
		}
	}
	c.ops = append(c.ops, op)
	return nil
}

func setField(op *history.Operation, word string) (err error) {
	name, value, _ := strings.Cut(word, "=")
	switch name {
	case "shared":
		op.Mode = history.Shared
	case "tok":
		op.Token = value
	case "valid":
		op.ValidUntil, err = millis(value)
	case "fence":
		op.Fence, err = strconv.ParseUint(value, 10, 64)
	case "read":
		op.HasValue = true
		op.Read, err = strconv.ParseInt(value, 10, 64)
	case "wrote":
		op.HasValue = true
		op.Wrote, err = strconv.ParseInt(value, 10, 64)
	default:
		outcome, ok := corpusOutcomes[word]
		if !ok {
			return fmt.Errorf("no field or outcome %q", word)
		}
		op.Outcome = outcome
	}
	return err
}

func (c *corpusCase) addCommands(client, text string, from, to int64) error {
	if text == "" {
		return nil
	}
	parts := strings.Split(text, " | ")
	share := (to - from) / int64(len(parts))
	for i, part := range parts {
		cmd := history.Command{Client: client, Conn: uint64(client[1]-'0') + 1}
		cmd.Sent = from + int64(i)*share + share/10
		cmd.Replied = from + int64(i+1)*share
		if err := fillCommand(&cmd, part); err != nil {
			return err
		}
		c.commands = append(c.commands, cmd)
	}
	return nil
}

func fillCommand(cmd *history.Command, text string) (err error) {
	if request, at, ok := strings.Cut(text, " @"); ok {
		text = request
		if cmd.Sent, cmd.Replied, err = spanOf(at); err != nil {
			return err
		}
	}
	request, reply, ok := strings.Cut(strings.TrimSpace(text), " -> ")
	if !ok {
		return fmt.Errorf("%q: no reply", text)
	}
	cmd.Reply = reply
	if reply == "?" {
		cmd.Reply, cmd.Replied = "", 0
	}
	words := strings.Fields(request)
	if node, name, ok := strings.Cut(words[0], ":"); ok {
		words[0] = name
		node, other, _ := strings.Cut(node, "+")
		cmd.Conn += uint64(100 * len(other))
		if cmd.Node, err = strconv.Atoi(node[1:]); err != nil {
			return err
		}
	}
	cmd.Name, cmd.Args = words[0], words[1:]
	return nil
}

func spanOf(text string) (from, to int64, err error) {
	a, b, ok := strings.Cut(text, "-")
	if from, err = millis(a); err != nil || !ok {
		return from, from, err
	}
	if b == "" { // never ended
		return from, 0, nil
	}
	to, err = millis(b)
	return from, to, err
}

func millis(text string) (int64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no number of milliseconds", text)
	}
	return int64(f * float64(milli)), nil
}
