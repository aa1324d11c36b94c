package locktest

import (
	"errors"
	"net"
)

// observe finds out by trying what the methods of a lock don't show: whether it can reach a server in this world, and whether it renews by itself.
func (c *trial) observe(cfg *config) message {
	a, b := c.client("a"), c.client("b")
	_, err := a.try(exclusive)
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" && c.slack == 0 && !errors.Is(err, errDead) {
		return message{Real: "the lock opens connections of its own, and not with Config.Dial: " + err.Error()}
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
	c.sleep(c.lease / 2)
	before, _ := c.log.count("a", c.log.begin)
	c.sleep(c.lease + c.slack)
	after, _ := c.log.count("a", c.log.begin)
	if _, err := b.try(exclusive); b.refusal(err) && after > before {
		cfg.traits.SelfRenewing = true
	}
	return message{}
}
