package history

import (
	"cmp"
	"slices"

	"github.com/lockbench/lockbench/internal/resp"
)

// LinkCommands sets Op of each command that has none to the operation that sent it, among those of
// its client that were under way at the time, or leaves it 0 for a command that was sent in the
// background. It decides which it is, and of several operations which one, by how often such
// commands were sent per second while a kind of operation was under way alone, and while none was:
// a watchdog renews as often while its client waits as at other times. The operations must have
// their ids. Uses and writes send nothing to a lock's nodes, and commands to the guarded store stay
// without operation.
func LinkCommands(ops []Operation, commands []Command) {
	calls := map[string][]*Operation{}
	for i := range ops {
		if op := &ops[i]; op.Op == Acquire || op.Op == Extend || op.Op == Release {
			calls[op.Client] = append(calls[op.Client], op)
		}
	}
	known := senders{sent: map[sending]float64{}, took: map[Op]float64{}}
	for _, list := range calls {
		slices.SortStableFunc(list, func(a, b *Operation) int { return cmp.Compare(a.Call, b.Call) })
		known.time(list)
	}
	for i := range commands {
		c := &commands[i]
		switch under := during(calls[c.Client], c.Sent); {
		case c.Node < 0:
		case len(under) == 0:
			known.sent[sentBy(background, c)]++
		case len(under) == 1:
			known.sent[sentBy(under[0].Op, c)]++
		}
	}
	for i := range commands {
		if c := &commands[i]; c.Op == 0 && c.Node >= 0 {
			c.Op = known.sender(during(calls[c.Client], c.Sent), c)
		}
	}
}

// background stands for no operation at all, as the sender of a command.
const background = OpInvalid

// KindOf names a kind of command: the script that it runs, sent by its source or its digest, or
// else its name.
func KindOf(name, script string) string { return cmp.Or(script, name) }

// ReleaseKinds returns the kinds of the writes that releases sent to the lock's nodes. One that an
// acquire, or nobody, sends takes something back.
func ReleaseKinds(ops []Operation, commands []Command) map[string]bool {
	releases := map[uint64]bool{}
	for i := range ops {
		if ops[i].Op == Release {
			releases[ops[i].ID] = true
		}
	}
	kinds := map[string]bool{}
	for i := range commands {
		if c := &commands[i]; releases[c.Op] && c.Node >= 0 && resp.IsWrite(c.Name) {
			kinds[KindOf(c.Name, c.Script)] = true
		}
	}
	return kinds
}

// senders counts the commands that were sent while operations of only one kind were under way, and
// the nanoseconds in which that was so.
type senders struct {
	sent map[sending]float64
	took map[Op]float64
}

// sending is a kind of operation that sends commands of a kind.
type sending struct {
	by   Op
	kind string
}

func sentBy(op Op, c *Command) sending { return sending{op, KindOf(c.Name, c.Script)} }

// time adds the time in which one operation of a client, or none, was under way. The calls are in
// order.
func (s *senders) time(calls []*Operation) {
	bounds := make([]int64, 0, 2*len(calls))
	for _, op := range calls {
		bounds = append(bounds, op.Call, op.Return)
	}
	slices.Sort(bounds)
	for i := 1; i < len(bounds); i++ {
		from, to := bounds[i-1], bounds[i]
		if from == to {
			continue
		}
		switch under := during(calls, from+(to-from)/2); len(under) {
		case 0:
			s.took[background] += float64(to - from)
		case 1:
			s.took[under[0].Op] += float64(to - from)
		}
	}
}

// perSecond returns how often a kind of operation sent commands like one.
func (s *senders) perSecond(by Op, c *Command) float64 {
	return s.sent[sentBy(by, c)] * 1e9 / max(s.took[by], 1)
}

// sender returns the id of the operation that sent a command, of those under way; 0: it was sent in
// the background. What is sent in the background goes on while operations are under way, so an
// operation must have sent clearly more, twice as much, to count as the sender.
func (s *senders) sender(under []*Operation, c *Command) uint64 {
	if len(under) == 0 {
		return 0
	}
	likely := slices.MaxFunc(under, func(a, b *Operation) int { return cmp.Compare(s.perSecond(a.Op, c), s.perSecond(b.Op, c)) })
	if n := s.perSecond(background, c); n > 0 && s.perSecond(likely.Op, c) < 2*n {
		return 0
	}
	return likely.ID
}

// overlapping bounds how many earlier operations may still be under way: a client does one thing at
// a time and renews a few holds.
const overlapping = 64

// during returns the operations under way at an instant, the latest first.
func during(calls []*Operation, sent int64) (under []*Operation) {
	n, _ := slices.BinarySearchFunc(calls, sent, func(op *Operation, t int64) int {
		if op.Call <= t {
			return -1
		}
		return 1
	})
	for i := n - 1; i >= max(0, n-overlapping); i-- {
		if calls[i].Return >= sent {
			under = append(under, calls[i])
		}
	}
	return under
}
