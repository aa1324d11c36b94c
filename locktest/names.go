package locktest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/impls"
)

// alike are pairs of suffixes that a hash, a careless concatenation or a replacement of characters
// maps to the same value after any prefix.
var alike = []pair{
	{"plumless", "buckeroo", "CRC-32"},
	{"Aa", "BB", "a hash that multiplies by 31"},
	{"Az", "BY", "a hash that multiplies by 33"},
	{"abba", "baab", "a sum of bytes, and Adler-32"},
	{"job", "JOB", "letters without their case"},
	{"a:b", "a/b", "separators that are replaced"},
	{"a.b", "a-b", "separators that are replaced"},
	{"a*b", "axb", "a pattern of keys"},
	{"a\x00b", "a\x00c", "what is before a zero byte"},
	{"{x}1", "{x}2", "the hash tag alone"},
	{"x", "x:lock", "an ending that the lock puts to names of its own"},
	{"\u00e9", "e\u0301", "the normal forms of Unicode"},
	{"\ufb01", "fi", "the compatible forms of Unicode"},
	{"\u00e9", "\u00e8", "the characters of ASCII only"},
	{"a%2Fb", "a/b", "an escape"},
	{longName + "1", longName + "2", "the first 2,000 bytes"},
	{"1" + longName, "2" + longName, "the last 2,000 bytes"},
}

// separators are characters at which a lock may split a name, or which it may clean away.
const separators = " \t\n!\"#$%&'()*+,-./:;<=>?@[\\]^_`|~"

// exactly are whole names that collide under 32-bit FNV-1a only without a prefix.
var exactly = []pair{
	{"costarring", "liquid", "FNV-1a"},
	{"declinate", "macallums", "FNV-1a"},
	{"creamwove", "quists", "FNV-1"},
}

var longName = fmt.Sprintf("%02000d", 0)

// manyNames is how many names one client holds at once: enough for two of them to collide in a
// table of 65,536.
const manyNames = 1000

// pair are two names, and what could confuse them.
type pair struct{ a, b, how string }

func namesApart(c *trial) {
	a, b, other := c.at(a), c.at(b), c.at(other)
	try := func(first, second, how string) {
		for range 2 { // a release may end a hold in one order and not in the other
			x, err1 := a.lockOf(first)
			y, err2 := b.lockOf(second)
			z, err3 := other.lockOf(first)
			if errors.Join(err1, err2, err3) == nil { // the lock takes these names
				c.mustBothHold(x, y, z, how)
			}
			first, second = second, first
		}
	}
	for _, p := range c.borrowed() { // first, while the requests are those of one name
		try(p.a, p.b, p.how)
	}
	for _, p := range alike {
		try(c.key+p.a, c.key+p.b, p.how)
	}
	for _, p := range exactly {
		try(p.a, p.b, p.how)
	}
	if c.clear(); !c.cfg.Variant { // an adapter has one Redis client for each object
		c.holdSeparated(c.client("c"), c.client("d"))
	}
	c.clear()
	c.holdMany(a, other)
}

// holdSeparated lets one client hold the first name of every pair, and another the second; both
// hold each name once. Nothing is released: for a release by a pattern some of these names would
// end the server.
func (c *trial) holdSeparated(a, b *client) {
	held := map[string]bool{}
	hold := func(cl *client, name, other, how string) {
		if held[name] {
			return
		}
		held[name] = true
		l, err := cl.lockOf(c.key + name)
		if err != nil {
			return
		}
		if _, err := l.try(exclusive); cl.saysBusy(err) {
			c.errorf("%s: %s, though nobody held it; another client held %s; the names are the same under %s", l.call("TryLock"), cl.outcome(err), shortened(c.key+other), how)
		}
	}
	pairs := []pair{{"\xff", "\xfe", "what is valid UTF-8"}}
	for _, s := range strings.Split(separators, "") {
		pairs = append(pairs, pair{"x" + s + "1", "x" + s + "2", fmt.Sprintf("what is before %q", s)},
			pair{"1" + s + "x", "2" + s + "x", fmt.Sprintf("what is behind %q", s)},
			pair{"x", "x" + s, fmt.Sprintf("trimming of %q", s)},
			pair{"a" + s + "b", "ab", fmt.Sprintf("%q left out", s)},
			pair{"a" + s + "b", "a_b", fmt.Sprintf("%q replaced", s)},
			pair{"a" + s + s + "b", "a" + s + "b", fmt.Sprintf("%q repeated, as in a path that is cleaned", s)})
	}
	for _, p := range pairs {
		hold(a, p.a, p.b, p.how)
		hold(b, p.b, p.a, p.how)
	}
}

// borrowed returns names whose key is another key of the lock: "job:queue", if the lock called
// "job" has a queue of that name.
func (c *trial) borrowed() (out []pair) {
	c.play(a.holds(), b.givesUp(exclusive, 1, 20), a.lets(), takenBack(), b.holds(), a.givesUp(exclusive, 1, 20), b.lets(), takenBack())
	spellings := c.log.spellings(c.key)
	for _, p := range spellings {
		for _, q := range spellings {
			key := q.before + c.key + q.behind
			name, begins := strings.CutPrefix(key, p.before)
			name, ends := strings.CutSuffix(name, p.behind)
			// a name with a hash tag says itself which keys it shares
			if begins && ends && p != q && !strings.ContainsAny(name, "{}") {
				out = append(out, pair{c.key, name, "the key " + key + ", which both use"})
			}
		}
	}
	return out
}

// holdMany lets one client hold many names at once, and release some. If names shared a mutex in
// the process, it would block itself; if they shared a count, some releases would free nothing.
func (c *trial) holdMany(a, other *client) {
	n := manyNames
	if c.slack > 0 || c.cfg.Variant { // an adapter has one Redis client for each
		n = manyNames / 20
	}
	var held []*client
	for i := range n {
		l, err := a.lockOf(fmt.Sprintf("%s%d", c.key, i))
		if err != nil {
			break
		}
		if _, err := l.try(exclusive); a.saysBusy(err) {
			c.errorf("a held %d locks of other names, and %s: %s", i, l.call("TryLock"), a.outcome(err))
			return
		} else if err == nil {
			held = append(held, l)
		}
	}
	// Three tenths show as much as all: if some pairs of names share a place, one that is released
	// first is among them nearly always.
	for i, l := range held[:len(held)*3/10] {
		err := l.release()
		if c.slack > 0 {
			continue // their leases may have ended meanwhile
		}
		next, made := other.lockOf(l.env.Key)
		if made != nil {
			continue
		}
		if _, tried := next.try(exclusive); tried != nil {
			c.errorf("a held %d locks, each of another name, and has released %d of them; %s: %s, and then %s: %s", len(held), i, l.call("Unlock"), say(err),
				next.call("TryLock"), other.outcome(tried))
			return
		}
	}
}

// commonWords are words that scripts compare with, by themselves or by a conversion.
var commonWords = []string{"0", "1", "nil", "false", "OK", "free"}

// reservedWords gives a client, and a lock, the name of a word that the lock itself uses: such a
// name is a name like any other.
func reservedWords(c *trial) {
	c.play(a.holds(), b.givesUp(exclusive, 1, 20), a.lets(), takenBack(), b.holds(), a.givesUp(exclusive, 1, 20), b.lets(), takenBack())
	words := append(slices.Clone(commonWords), c.log.constants()...)
	if c.slack > 0 {
		words = words[:len(commonWords)]
	}
	for _, w := range slices.Compact(words) {
		c.clear()
		c.ownerCalled(w)
		c.clear()
		c.lockCalled(w, c.at(a), c.at(b))
	}
}

func (c *trial) ownerCalled(word string) {
	x, err := c.open(fmt.Sprintf("%q", word), func(e *impls.Env) { e.Owner = word })
	if err != nil {
		return // it does not take this name
	}
	defer x.close()
	if _, err := x.try(exclusive); err != nil {
		c.note("a client that is called %q: %s", word, x.outcome(err))
		return
	}
	c.story = nil
	c.say("a client that is called %q holds, and the lock itself uses this word", word)
	c.play(b.isRefused())
	x.mustRelease()
	c.play(b.holds(), b.releases())
}

func (c *trial) lockCalled(word string, a, b *client) {
	x, err := a.lockOf(word)
	y, err2 := b.lockOf(word)
	if errors.Join(err, err2) != nil {
		return
	}
	if _, err := x.try(exclusive); err != nil {
		c.note("%s, a word that the lock itself uses: %s", x.call("TryLock"), a.outcome(err))
		return
	}
	if _, err := y.try(exclusive); err == nil {
		c.errorf("a held %s, a word that the lock itself uses, and %s succeeded", shortened(word), y.call("TryLock"))
	}
	if err := x.release(); err != nil {
		c.errorf("a held %s, a word that the lock itself uses, and %s: %v", shortened(word), x.call("Unlock"), err)
	}
}

// mustBothHold checks that two clients can hold locks of different names at once, and that other is
// still refused a's lock after b's release. how is what could confuse the names.
func (c *trial) mustBothHold(a, b, other *client, how string) {
	switch _, err := a.try(exclusive); {
	case a.saysBusy(err):
		c.errorf("%s: %s, though nobody held it", a.call("TryLock"), a.outcome(err))
		return
	case err != nil:
		c.note("%s: %v; a name that the lock refuses is not tried further", a.call("TryLock"), err)
		return
	}
	if _, err := other.try(exclusive); err == nil { // it excludes nobody, which other rules report
		_, _ = other.release(), a.release()
		return
	}
	if _, err := b.try(exclusive); err != nil {
		c.errorf("%s held %s, and %s: %s; the names are the same under %s", a.name, shortened(a.env.Key), b.call("TryLock"), b.outcome(err), how)
	} else if err := b.release(); err != nil {
		c.errorf("%s held %s, and %s: %v; the names are the same under %s", a.name, shortened(a.env.Key), b.call("Unlock"), err, how)
	} else if _, err := other.try(exclusive); err == nil {
		c.errorf("%s held %s, %s has released %s, and %s succeeded; the names are the same under %s", a.name, shortened(a.env.Key), b.name, shortened(b.env.Key), other.call("TryLock"), how)
		_ = other.release()
	}
	if err := a.release(); err != nil {
		c.errorf("%s failed after %s had released %s: %v; the names are the same under %s", a.call("Unlock"), b.name, shortened(b.env.Key), err, how)
	}
}

// lockOf returns the client with a lock of another name than the rule's. The two share their
// connections, and end together.
func (cl *client) lockOf(name string) (*client, error) {
	o := &client{c: cl.c, name: cl.name, wires: cl.wires, env: cl.env}
	o.env.Key = name
	o.env.Rand = random(fmt.Sprintf("%s, object %d", cl.name, len(cl.others)+2)) // objects may be used at once
	var err error
	cl.do("constructor", func() { o.lock, err = cl.c.make(o.env) })
	if err == nil {
		cl.others = append(cl.others, o)
	}
	return o, err
}

// call is a call of a lock with a name, for messages: a.TryLock("job").
func (cl *client) call(method string) string {
	return fmt.Sprintf("%s.%s(%s)", cl.name, cl.named(method), shortened(cl.env.Key))
}

func shortened(name string) string {
	const most = 40
	if len(name) > most {
		return fmt.Sprintf("%q… (%d bytes)", name[:most/4], len(name))
	}
	return fmt.Sprintf("%q", name)
}
