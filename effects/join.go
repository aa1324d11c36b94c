package effects

import (
	"context"
	"math"
	"slices"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// Record is what is known of a run beside the logs of its servers.
type Record struct {
	Header   history.Header
	Commands []history.Command // with their operations
	Scripts  map[string]string // sources by digest
	Faults   []history.Window
	// Skip, when set, reports that a key is none of the lock's: the guarded store may be on the
	// same server.
	Skip func(key string) bool
}

// Join returns what the nodes executed, from their logs. Each node's events are in its order. It
// ends early, with the error of ctx, when ctx ends.
func Join(ctx context.Context, rec Record, logs []history.Logged) ([]history.Executed, error) {
	whole, err := fakeredis.New()
	if err != nil {
		return nil, err
	}
	defer whole.Close()
	trial, err := fakeredis.New()
	if err != nil {
		return nil, err
	}
	defer trial.Close()
	nodes := map[int][]*history.Logged{}
	for i := range logs {
		nodes[logs[i].Node] = append(nodes[logs[i].Node], &logs[i])
	}
	out := []history.Executed{}
	for node, steps := range nodes {
		j := newJoin(rec, node, whole, trial)
		for i, step := range steps {
			if i%1000 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			j.step(step)
		}
		j.tellTime(math.MaxInt64)
		out = append(out, j.events()...)
	}
	slices.SortStableFunc(out, func(a, b history.Executed) int { return int(a.At - b.At) })
	if rec.Header.Copies {
		attribute(out)
	}
	return out, nil
}

// join is the work on one node.
type join struct {
	Record
	node    int
	data    *data
	trial   executor
	byKey   map[string]*queue
	low     int64            // no later step was executed earlier
	tried   int              // candidates that were executed
	asked   int              // calls of open
	clocks  []history.Effect // of the node's clock, to come
	strikes []strike         // deletions, evictions and restarts by faults
	lines   []line
}

// queue has the candidates that name a key, in the order in which they were sent; those before
// first are past.
type queue struct {
	all   []*candidate
	first int
}

// strike is what a fault did to a key, until a step of the log was found to be it.
type strike struct {
	history.Effect
	key   string
	found bool
}

// line is an event, and between which instants it happened.
type line struct {
	history.Executed
	from, to int64
}

func newJoin(rec Record, node int, whole, trial *fakeredis.Server) *join {
	j := &join{Record: rec, node: node, data: newData(whole, rec.Header.Epoch), trial: executor{server: trial}, byKey: map[string]*queue{}, low: math.MinInt64}
	for _, c := range candidates(&rec, node) {
		for i, key := range c.keys {
			if slices.Contains(c.keys[:i], key) {
				continue
			}
			if j.byKey[key] == nil {
				j.byKey[key] = &queue{}
			}
			j.byKey[key].all = append(j.byKey[key].all, c)
		}
	}
	for _, w := range rec.Faults {
		for _, e := range w.Effects {
			switch {
			case e.Node != node:
			case e.What == history.ClockSet || e.What == history.ClockRate:
				j.clocks = append(j.clocks, e)
			case e.What == history.Restarted || e.What == history.Promoted:
				j.strikes = append(j.strikes, strike{Effect: e})
			default:
				for _, key := range e.Lost {
					j.strikes = append(j.strikes, strike{Effect: e, key: key})
				}
			}
		}
	}
	slices.SortStableFunc(j.clocks, func(a, b history.Effect) int { return int(a.At - b.At) })
	return j
}

// step joins one step of the log.
func (j *join) step(s *history.Logged) {
	if s.Effect != "" {
		j.fault(s)
		return
	}
	commands := s.Log
	for len(commands) > 1 && j.lapsed(commands[0], s.At, apart) { // the command found a lease over
		if c := j.executed(j.open(commands, s.At), commands, s.At); c != nil && j.endedIt(c, commands, s.At) {
			break
		}
		j.end(commands[:1], s.At)
		commands = commands[1:]
	}
	if len(commands) == 0 || j.skips(commands) {
		return
	}
	if c := j.sender(commands, s.At); c != nil {
		c.taken = true
		j.low = max(j.low, c.command.Sent)
		j.tellTime(c.command.Sent)
		e := history.Executed{Client: c.command.Client, Conn: c.command.Conn, Op: c.command.Op, Name: c.command.Name, Script: c.command.Script,
			Args: c.command.Args, Reply: c.command.Reply}
		if c.command.Replied == 0 { // nothing but the reader, which looks now and then, says until when
			e.At = j.low + soon
		}
		j.add(e, commands, min(c.replied(), s.At))
		return
	}
	j.nobodys(commands, s.At)
}

// endedIt reports whether a candidate that was sent before a lease was over ended it itself:
// whether it does the same while the lease lasts.
func (j *join) endedIt(c *candidate, commands [][]string, read int64) bool {
	at := max(j.low, c.command.Sent)
	return !j.lapsed(commands[0], at, 0) && j.trial.does(c, j.data, j.outcome(commands), at, max(min(c.replied(), read)-at, 0))
}

func (j *join) skips(commands [][]string) bool {
	if j.Skip == nil {
		return false
	}
	return !slices.ContainsFunc(commands, func(words []string) bool {
		keys := resp.Keys(words)
		return len(keys) == 0 || slices.ContainsFunc(keys, func(key string) bool { return !j.Skip(key) })
	})
}

// lapsed reports whether a command of the log can be the end of a lease at a time, by the node's
// clock, which may have been set by then, or so much later by another clock.
func (j *join) lapsed(words []string, at, later int64) bool {
	if words[0] != "DEL" && words[0] != "UNLINK" || len(words) != 2 {
		return false
	}
	if j.data.ended(words[1], at) {
		return true
	}
	was := j.data.clock
	defer func() { j.data.clock = was }()
	for _, e := range j.clocks {
		if e.At > at+later {
			break
		}
		if j.data.clock = j.data.clock.After(&e); j.data.ended(words[1], at) {
			return true
		}
	}
	return false
}

// add adds an event that executed commands of the log, at the latest at a time.
func (j *join) add(e history.Executed, commands [][]string, to int64) {
	for _, words := range commands {
		changes, known := j.data.apply(words)
		e.Open = e.Open || !known
		e.Changes = append(e.Changes, changes...)
	}
	e.Changes = merged(e.Changes)
	j.put(e, to)
}

// put adds an event whose changes are known.
func (j *join) put(e history.Executed, to int64) {
	if len(e.Changes) == 0 && e.Effect == "" && !e.Open {
		return
	}
	e.Node = j.node
	j.lines = append(j.lines, line{e, j.low, to})
}

// merged makes one change of those to a key by one event.
func merged(changes []history.DataChange) []history.DataChange {
	out := changes[:0]
	for _, c := range changes {
		if i := slices.IndexFunc(out, func(o history.DataChange) bool { return o.Key == c.Key }); i >= 0 {
			out[i].After = c.After
			continue
		}
		out = append(out, c)
	}
	return slices.DeleteFunc(out, func(c history.DataChange) bool { return c.Before == nil && c.After == nil })
}

// outcome returns the values that a step leaves under the keys that it changes, without changing
// the data.
func (j *join) outcome(commands [][]string) fakeredis.Data {
	var keys []string
	for _, words := range commands {
		keys = append(keys, resp.Keys(words)...)
	}
	before := j.data.values(keys)
	j.trial.server.SetData(never, before)
	after := fakeredis.Data{}
	for _, words := range commands {
		j.trial.server.Do(never, words)
		for _, key := range j.trial.server.Touched() {
			after[key] = j.trial.server.Entry(key)
		}
	}
	return after
}

// nobodys adds a step that no recorded command explains.
func (j *join) nobodys(commands [][]string, read int64) {
	one := commands[0]
	if keys := resp.Keys(one); len(commands) == 1 && len(keys) == 1 && (one[0] == "DEL" || one[0] == "UNLINK") {
		if what, at := j.struck(keys[0], read); what != "" {
			j.add(history.Executed{Effect: what, At: at}, commands, read)
			return
		}
		if j.lapsed(one, read, apart) {
			j.end(commands, read)
			return
		}
	}
	e := history.Executed{Name: one[0], Args: one[1:]}
	if len(commands) > 1 {
		e.Name, e.Args = "EXEC", nil
	}
	j.add(e, commands, read)
}

// end adds the end of a lease, which the server removed when it noticed.
func (j *join) end(commands [][]string, read int64) {
	key := commands[0][1]
	for len(j.clocks) > 0 && !j.data.ended(key, read) { // it ended because the clock was set
		j.tellTime(j.clocks[0].At)
	}
	until := j.data.keys[key].datum.Until
	j.low = max(j.low, min(until, read))
	j.add(history.Executed{Effect: history.Expired, At: until}, commands, read)
}

// soon is how long after it was sent a server executes a command, unless something holds it up.
const soon = int64(300e3)

// apart is by how much the clock of a measured effect and the time of a step may differ.
const apart = int64(250e6)

// struck returns the fault that removed a key, and when; "" for none. It did not remove what had
// ended before it.
func (j *join) struck(key string, read int64) (what string, at int64) {
	for i := range j.strikes {
		s := &j.strikes[i]
		if s.key == key && !s.found && s.At >= j.low-apart && s.At <= read+apart && !j.data.ended(key, s.At) {
			s.found = true
			return s.What, s.At
		}
	}
	return "", 0
}

// fault adds a restart or a promotion.
func (j *join) fault(s *history.Logged) {
	e := history.Executed{Effect: s.Effect, At: s.At}
	for i := range j.strikes {
		if k := &j.strikes[i]; k.key == "" && k.What == s.Effect && !k.found {
			k.found, e.At = true, min(k.At, s.At)
			break
		}
	}
	if !s.Kept {
		e.Changes = j.data.replace(s.Log)
	}
	if s.Effect == history.Promoted {
		j.data.retime(history.Clock{}) // another machine
	}
	j.put(e, s.At)
}

// tellTime adds the changes of the node's clock up to a time.
func (j *join) tellTime(until int64) {
	for len(j.clocks) > 0 && j.clocks[0].At <= until {
		e := j.clocks[0]
		j.clocks = j.clocks[1:]
		j.put(history.Executed{Effect: e.What, At: e.At, Changes: j.data.retime(j.data.clock.After(&e))}, e.At)
	}
}

// events returns the events with times that fit their order.
func (j *join) events() []history.Executed {
	latest := int64(math.MaxInt64)
	for i := len(j.lines) - 1; i >= 0; i-- {
		latest = min(latest, j.lines[i].to)
		j.lines[i].to = latest
	}
	out := make([]history.Executed, len(j.lines))
	last := int64(math.MinInt64)
	for i := range j.lines {
		l := &j.lines[i]
		from, to := l.from, l.to
		if from == math.MinInt64 {
			from = min(to, 0)
		}
		at := l.At
		if at == 0 {
			at = from + max(to-from, 0)/2
		}
		last = max(last, min(max(at, from), max(to, from)))
		l.At = last
		out[i] = l.Executed
	}
	return out
}
