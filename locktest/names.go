package locktest

import (
	"fmt"
)

// alike are pairs of suffixes that a hash, or careless concatenation, maps to the same value after any prefix.
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

// exactly are whole names that collide under 32-bit FNV-1a only without a prefix.
var exactly = []struct{ a, b, how string }{
	{"costarring", "liquid", "FNV-1a"},
	{"declinate", "macallums", "FNV-1a"},
	{"creamwove", "quists", "FNV-1"},
}

var longName = fmt.Sprintf("%0200d", 0)

// crowd is how many names one client holds at once: enough for two of them to collide in a table of 65,536.
const crowd = 1000

func namesApart(c *trial) {
	a, b := c.client("a"), c.client("b")
	try := func(first, second, how string) {
		x, err := a.another(first)
		if err != nil {
			return // the lock refuses this name
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

// crowd lets one client hold many names at once. It would wait for itself if names shared a mutex in the process.
func (c *trial) crowd(a *client) {
	n := crowd
	if c.slack > 0 || c.cfg.variant { // an adapter has one Redis client for each
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
