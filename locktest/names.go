package locktest

import (
	"fmt"
)

// alike are pairs of endings that a hash, or a careless way to put names together, takes for one another, whatever stands before them.
var alike = []struct{ a, b, how string }{
	{"plumless", "buckeroo", "CRC-32"},
	{"Aa", "BB", "a hash that multiplies by 31"},
	{"Az", "BY", "a hash that multiplies by 33"},
	{"abba", "baab", "a sum of bytes, and Adler-32"},
	{"job", "JOB", "letters without their case"},
	{"a:b", "a/b", "separators that are replaced"},
	{"{x}1", "{x}2", "the hash tag alone"},
	{"x", "x:lock", "an ending that the lock puts to names of its own"},
	{longName + "1", longName + "2", "the first 200 bytes"},
}

// exactly are whole names that collide under FNV-1a with 32 bits, which a prefix would tell apart.
var exactly = []struct{ a, b, how string }{
	{"costarring", "liquid", "FNV-1a"},
	{"declinate", "macallums", "FNV-1a"},
	{"creamwove", "quists", "FNV-1"},
}

var longName = fmt.Sprintf("%0200d", 0)

// crowd is how many names one client holds at once: enough for two that share one of 65,536 places.
const crowd = 1000

func namesApart(c *trial) {
	a, b := c.client("a"), c.client("b")
	try := func(first, second, how string) {
		x, err := a.another(first)
		if err != nil {
			return // a name that the lock refuses is no name
		}
		y, err := b.another(second)
		if err != nil {
			return
		}
		c.mustBothHold(a, b, x, y, first, second, how)
	}
	for _, p := range alike {
		try(c.key+p.a, c.key+p.b, p.how)
	}
	for _, p := range exactly {
		try(p.a, p.b, p.how)
	}
	c.crowd(a)
}

// crowd lets one client hold many names at once. It would also wait for itself where names share a mutex in the process.
func (c *trial) crowd(a *client) {
	n := crowd
	if c.slack > 0 || c.cfg.variant { // an adapter has a client of its own for each
		n = crowd / 20
	}
	for i := range n {
		name := fmt.Sprintf("%s%d", c.key, i)
		l, err := a.another(name)
		if err != nil {
			return
		}
		p := a.patient()
		a.do(a.named("TryLock"), func() { _, err = l.Try(p, exclusive) })
		keep(p, err)
		if a.saysBusy(err) {
			c.errorf("a held %d locks of other names, and a.%s(%q): %s", i, a.named("TryLock"), name, a.outcome(err))
			return
		}
	}
}
