package history

import "strings"

// Settle changes the outcome of acquires from unknown to fail where the record shows that they are
// certainly without effect, whatever error they returned: each request of theirs was answered
// before they returned, and none changed anything. effects are those of all nodes; without them an
// answered request that writes counts as without effect only if its reply is nil, 0 or an error,
// and an acquire that sent nothing stays unknown, because its lock may have connections that are
// not recorded. An acquire without an error did not return.
func Settle(ops []Operation, commands []Command, effects []Executed) {
	left := map[uint64]*Operation{} // without effect, by what is known so far
	for i := range ops {
		if op := &ops[i]; op.Op == Acquire && op.Outcome == Unknown && op.Err != "" {
			left[op.ID] = op
		}
	}
	if len(left) == 0 {
		return
	}
	sent := map[uint64]bool{}
	// no command that has such a reply has granted anything
	refusing := func(reply string) bool { return reply == "(nil)" || reply == "0" || strings.HasPrefix(reply, "-") }
	for i := range commands {
		c := &commands[i]
		op := left[c.Op]
		if op == nil {
			continue
		}
		sent[op.ID] = true
		if c.Replied == 0 || c.Replied > op.Return || effects == nil && !refusing(c.Reply) {
			delete(left, op.ID)
		}
	}
	for i := range effects {
		if len(effects[i].Changes) > 0 {
			delete(left, effects[i].Op)
		}
	}
	for id, op := range left {
		if sent[id] || effects != nil {
			op.Outcome = Fail
		}
	}
}
