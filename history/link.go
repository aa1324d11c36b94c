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
	perSecond := sendingRates(calls, commands)
	for i := range commands {
		c := &commands[i]
		if c.Op != 0 || c.Node < 0 {
			continue
		}
		under := during(calls[c.Client], c.Sent)
		if len(under) == 0 {
			continue
		}
		kind := KindOf(c.Name, c.Script)
		rate := func(op *Operation) float64 { return perSecond[sending{op.Op, kind}] }
		likely := slices.MaxFunc(under, func(a, b *Operation) int { return cmp.Compare(rate(a), rate(b)) })
		// What is sent in the background goes on while operations are under way, so an operation must
		// have sent clearly more, twice as much, to count as the sender.
		if n := perSecond[sending{background, kind}]; n == 0 || rate(likely) >= 2*n {
			c.Op = likely.ID
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

// sending is a kind of operation that sends commands of a kind.
type sending struct {
	by   Op
	kind string
}

// sendingRates returns how often commands were sent per second while operations of only one kind, or
// none, were under way. It sorts the calls of each client.
func sendingRates(calls map[string][]*Operation, commands []Command) map[sending]float64 {
	took := map[Op]float64{} // the nanoseconds in which that was so
	for _, list := range calls {
		slices.SortStableFunc(list, func(a, b *Operation) int { return cmp.Compare(a.Call, b.Call) })
		bounds := make([]int64, 0, 2*len(list))
		for _, op := range list {
			bounds = append(bounds, op.Call, op.Return)
		}
		slices.Sort(bounds)
		for i := 1; i < len(bounds); i++ {
			from, to := bounds[i-1], bounds[i]
			if from == to {
				continue
			}
			switch under := during(list, from+(to-from)/2); len(under) {
			case 0:
				took[background] += float64(to - from)
			case 1:
				took[under[0].Op] += float64(to - from)
			}
		}
	}
	rates := map[sending]float64{}
	for i := range commands {
		c := &commands[i]
		switch under := during(calls[c.Client], c.Sent); {
		case c.Node < 0:
		case len(under) == 0:
			rates[sending{background, KindOf(c.Name, c.Script)}]++
		case len(under) == 1:
			rates[sending{under[0].Op, KindOf(c.Name, c.Script)}]++
		}
	}
	for s, n := range rates {
		rates[s] = n * 1e9 / max(took[s.by], 1)
	}
	return rates
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
