package effects

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockbench/lockbench/internal/resp"
)

// sender returns the candidate that sent a step, which was read at a time; nil if none did.
func (j *join) sender(commands [][]string, read int64) *candidate {
	open := j.open(commands, read)
	if len(open) == 0 {
		return nil
	}
	its := func(c *candidate) bool { // and was sent before the lease of what it removed was over
		return c.says(commands) && !j.lapsed(commands[0], max(j.low, c.command.Sent)-int64(grain), 0)
	}
	var fit []*candidate
	for _, c := range open {
		if its(c) {
			fit = append(fit, c)
		}
	}
	if len(fit) > 0 {
		return j.first(fit, open)
	}
	if c := j.executed(open, commands, read); c != nil {
		return c
	}
	// What cannot be executed again is known by what it writes: its token. (A release that hands
	// the lock over writes that of the next.)
	if named := slices.DeleteFunc(open, func(c *candidate) bool { return !shares(c, commands) }); len(named) == 1 {
		return named[0]
	}
	return nil
}

// first returns the first of the candidates that fit a step for which all has been found that was
// replied before it was sent, else the first.
func (j *join) first(fit, open []*candidate) *candidate {
	for _, c := range fit {
		if len(fit) == 1 || !slices.ContainsFunc(open, func(o *candidate) bool {
			return o.replied() < c.command.Sent && (o.surelyDid() || o.command.IsScript() && !j.trial.idles(o, j.data, max(j.low, o.command.Sent)))
		}) {
			return c
		}
	}
	return fit[0]
}

// mostTried is how many candidates are executed for one step. A lock that tries without a pause
// while its server is away leaves thousands without a reply, each of which may still come; those
// that name the token in question come first.
const mostTried = 50

// mostExecuted is how often candidates of a node are executed in all, which takes some ten seconds.
const mostExecuted = 20_000

// executed returns the first candidate that does, executed with the data of the moment, what the
// step did.
func (j *join) executed(open []*candidate, commands [][]string, read int64) *candidate {
	if len(open) == 0 || j.tried > mostExecuted {
		return nil
	}
	after := j.outcome(commands)
	for _, c := range j.likely(open, commands) {
		from, to := max(j.low, c.command.Sent), min(c.replied(), read)
		to = max(from, to)
		for _, at := range []int64{from + (to-from)/2, from, to} {
			j.tried++
			if j.trial.does(c, j.data, after, at, to-from) {
				return c
			}
			if !j.timed(commands) {
				break
			}
		}
	}
	return nil
}

// likely returns the candidates to try, at most mostTried: first those that name what the step
// writes or what its keys held before it.
func (j *join) likely(open []*candidate, commands [][]string) []*candidate {
	if len(open) <= mostTried {
		return open
	}
	held := [][]string{}
	for _, words := range commands {
		for _, key := range resp.Keys(words) {
			if d := j.data.keys[key].datum; d != nil {
				for name, text := range d.Parts() {
					held = append(held, []string{"", name, text})
				}
			}
		}
	}
	var writes, finds, rest []*candidate
	for _, c := range open {
		switch {
		case shares(c, commands):
			writes = append(writes, c)
		case shares(c, held):
			finds = append(finds, c)
		default:
			rest = append(rest, c)
		}
	}
	return slices.Concat(writes, finds, rest)[:mostTried]
}

// timed reports whether it matters when a step was executed: a key that it names has a lease.
func (j *join) timed(commands [][]string) bool {
	for _, words := range commands {
		for _, key := range resp.Keys(words) {
			if v := j.data.keys[key].value; v != nil && v.Expires != 0 {
				return true
			}
		}
	}
	return false
}

// open returns the candidates that name a key of a step and were under way, as they were replied;
// those without a reply come last. Behind all others come those that were sent after the reply to
// one that surely has a step of its own, which is still to be found.
func (j *join) open(commands [][]string, read int64) (open []*candidate) {
	j.asked++
	for _, words := range commands {
		for _, key := range resp.Keys(words) {
			q := j.byKey[key]
			if q == nil {
				continue
			}
			for q.first < len(q.all) && (q.all[q.first].taken || q.all[q.first].replied() < j.low) {
				q.first++
			}
			for _, c := range q.all[q.first:] {
				if c.command.Sent > read {
					break
				}
				if !c.taken && c.replied() >= j.low && c.seen != j.asked {
					c.seen = j.asked
					open = append(open, c)
				}
			}
		}
	}
	turn := int64(math.MaxInt64)
	for _, c := range open {
		if c.surelyDid() {
			turn = min(turn, c.replied())
		}
	}
	slices.SortStableFunc(open, func(a, b *candidate) int {
		if early := a.command.Sent <= turn; early != (b.command.Sent <= turn) {
			return map[bool]int{true: -1, false: 1}[early]
		}
		return cmp.Compare(a.replied(), b.replied())
	})
	return open
}

// shares reports whether a step writes something that is an argument of the candidate and no key,
// such as a token.
func shares(c *candidate, commands [][]string) bool {
	for _, words := range commands {
		keys := resp.Keys(words)
		for _, word := range words[1:] {
			if len(word) >= 8 && !slices.Contains(keys, word) && slices.Contains(c.command.Args, word) {
				return true
			}
		}
	}
	return false
}
