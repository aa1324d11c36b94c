package inject

import (
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// knownRequests remembers what a connection has sent. A client repeats a few requests, in which
// only a token or a number varies: a request like an earlier one is not taken apart again, and
// shares its strings, because recording must not slow the client down.
type knownRequests struct {
	all   []*known
	next  int    // of all, to be replaced
	fresh string // the text that varied last, such as a token, which the release sends again
}

// known is a request, and what it has in common with others that were like it.
type known struct {
	request resp.Request    // the last of them
	cmd     history.Command // its record, without times and reply
	varies  []int           // its arguments that have not always been the same, in order
	reply   string          // the reader's: to the last
}

const (
	mostKnown   = 16
	longestLike = 1 << 10 // bytes: longer requests are seldom repeated
)

// find returns the request that p is; nil if it is like none.
func (k *knownRequests) find(p []byte) *known {
	for _, one := range k.all {
		if one.request.Like(p, one.varies) {
			k.update(one, p)
			return one
		}
	}
	return nil
}

// update makes p the last of its like.
func (k *knownRequests) update(one *known, p []byte) {
	copy(one.request.Raw, p)
	for _, i := range one.varies {
		if raw := one.request.Arg(i); one.cmd.Args[i-1] != string(raw) {
			one.cmd.Args[i-1] = k.text(raw)
		}
	}
}

func (k *knownRequests) text(raw []byte) string {
	if k.fresh != string(raw) {
		k.fresh = resp.Text(raw, history.MaxArg)
	}
	return k.fresh
}

// add remembers a request that was like none before: a known one varies more than it seemed, or
// this is another.
func (k *knownRequests) add(r resp.Request, cmd history.Command) *known {
	if cmd.Cut || len(r.Raw) > longestLike || !r.Array() {
		return &known{request: r, cmd: cmd}
	}
	for _, one := range k.all {
		if varies, ok := one.variation(r, cmd); ok {
			one.varies = varies
			k.update(one, r.Raw)
			return one
		}
	}
	one := &known{request: r.Clone(), cmd: cmd}
	if len(k.all) < mostKnown {
		k.all = append(k.all, one)
	} else {
		k.all[k.next], k.next = one, (k.next+1)%mostKnown
	}
	return one
}

// variation returns the arguments that vary if r is the same command: with the same script, and no
// difference where something else is recorded.
func (k *known) variation(r resp.Request, cmd history.Command) (varies []int, ok bool) {
	if k.cmd.Name != cmd.Name || k.cmd.Script != cmd.Script || k.request.Len() != r.Len() {
		return nil, false
	}
	varies = slices.Clone(k.varies)
	for i := range r.Len() {
		if string(k.request.Arg(i)) == string(r.Arg(i)) || slices.Contains(varies, i) {
			continue
		}
		if named := i == 0 || i == 1 && cmd.Script != ""; named || cmd.Args[i-1] != resp.Text(r.Arg(i), history.MaxArg) {
			return nil, false
		}
		varies = append(varies, i)
	}
	slices.Sort(varies)
	return varies, k.request.Like(r.Raw, varies)
}

// line returns the text of a reply; a reply equal to the last shares its string.
func (k *known) line(r resp.Reply) string {
	if short := r.Raw; len(short) > 3 && len(k.reply)+3 == len(short) && (short[0] == ':' || short[0] == '+') && k.reply == string(short[1:len(short)-2]) {
		return k.reply
	}
	k.reply = r.Line(history.MaxReply)
	return k.reply
}
