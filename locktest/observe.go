package locktest

import (
	"errors"
	"net"
	"strings"
	"time"
)

// look finds out what the lock can do, adds it to the rule's config and tells it: first what its
// methods show, and then how it behaves, which may crash the process. It returns false if the lock
// can't be tested in this world, or at all.
func (c *trial) look(newLock factory, tell func(message)) bool {
	shaped, problem := c.methods(newLock)
	switch {
	case c.unknown(problem):
		tell(message{Skip: lacking + problem})
		return false
	case problem != "":
		tell(message{Fatal: problem})
		return false
	}
	c.cfg = shaped
	tell(message{Seen: &shaped.seen})
	if shaped.Variant {
		return true
	}
	m := c.observe()
	if m == (message{}) {
		m.Seen = &c.cfg.seen
	}
	tell(m)
	return m.Seen != nil
}

// methods makes one lock and returns the rule's config with what its methods show, or why it is not
// a lock.
func (c *trial) methods(newLock factory) (shaped config, problem string) {
	cl := c.prepare("first")
	err := errPanicked
	c.catchPanics(func() {
		cl.do("constructor", func() { shaped, cl.lock, err = c.cfg.shape(newLock, configOf(cl.env)) })
		cl.close()
	})
	if errors.Is(err, errPanicked) {
		return shaped, strings.Join(c.problems, "\n")
	}
	c.problems, c.worst = nil, 0 // a Close that fails is a matter of the rules
	if err != nil {
		return shaped, err.Error()
	}
	return shaped, ""
}

const lacking = "not checked here: the embedded server lacks what the lock uses (OnlyReal runs the rules on redis-server): "

// unknown reports whether the embedded server answered that it does not know a command.
func (c *trial) unknown(problem string) bool {
	return c.nodes[0].fake != nil && strings.Contains(problem, "ERR unknown ")
}

// errPanicked stands for the result of a constructor that has none.
var errPanicked = errors.New("it did not return")

// observe finds out by trying what the methods of a lock don't show: whether it renews by itself.
// If the lock can't be tested in this world, or at all, the message says why.
func (c *trial) observe() message {
	a, b := c.client("a"), c.client("b")
	_, err := a.try(exclusive)
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" && c.slack == 0 && !errors.Is(err, errDead) {
		return message{Real: "the lock opens connections of its own, and not with Config.Dial: " + err.Error()}
	}
	if err != nil && c.unknown(err.Error()) {
		return message{Skip: lacking + err.Error()}
	}
	n, _ := c.log.count("a", c.log.begin)
	if n == 0 {
		said := "was granted"
		if err != nil {
			said = "said " + err.Error()
		}
		return message{Fatal: "no request of the lock was seen, and its acquire " + said + ": it must use Config.Redis, dial with Config.Dial or, in real time, connect to Config.Addrs"}
	}
	if err != nil {
		return message{} // the rules will report it
	}
	time.Sleep(c.lease / 2)
	before, _ := c.log.count("a", c.log.begin)
	time.Sleep(c.lease + c.slack)
	after, _ := c.log.count("a", c.log.begin)
	_, err = b.try(exclusive)
	if b.refusal(err) && after > before {
		c.cfg.Traits.SelfRenewing = true
	}
	return message{}
}
