package harness

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/lockbench/lockbench/faults/inject"
)

// Sentinels and the masters of a cluster tell clients the addresses of servers, which lead past the
// proxy. On the way to a child, they are replaced by those of the client's links.

// retelling returns what replaces the addresses in replies, once the links are open.
func (d *serverDriver) retelling(links map[int]*inject.Link) func([]byte) []byte {
	retell := sync.OnceValue(func() func([]byte) []byte {
		all := d.servers.announced
		if watched := d.servers.lock.Sentinels(); watched != nil {
			all = append(all[:len(all):len(all)], watched.Addrs()...)
		}
		ports, texts := map[string]string{}, []string{}
		was, host := "", ""
		for i, addr := range all {
			var port, now string
			was, port, _ = net.SplitHostPort(addr)
			host, now, _ = net.SplitHostPort(links[i].Addr())
			ports[port] = now
			texts = append(texts, was+":"+port, host+":"+now, was+" "+port, host+" "+now)
		}
		within := strings.NewReplacer(texts...)
		return func(reply []byte) []byte { return retold(reply, was, host, ports, within) }
	})
	return func(reply []byte) []byte { return retell()(reply) }
}

// retold replaces addresses in a reply: a host in a bulk string, a port after a host or after the
// word port, in a bulk string or an integer, and both together in a text or an error.
func retold(reply []byte, was, host string, ports map[string]string, within *strings.Replacer) (out []byte) {
	before := ""
	for len(reply) > 0 {
		line, rest, _ := bytes.Cut(reply, []byte("\r\n"))
		kind, text := line[:min(1, len(line))], string(line[min(1, len(line)):])
		reply = rest
		bulk := false
		if size, err := strconv.Atoi(text); string(kind) == "$" && err == nil && size >= 0 && len(rest) >= size+2 {
			text, reply, bulk = string(rest[:size]), rest[size+2:], true
		}
		now := text
		port, isPort := ports[text]
		switch {
		case bulk && text == was:
			now = host
		case isPort && (bulk || string(kind) == ":") && (before == was || before == "port"):
			now = port
		case bulk || string(kind) == "-":
			now = within.Replace(text)
		}
		if bulk {
			out = fmt.Appendf(out, "$%d\r\n", len(now))
			kind = nil
		}
		out = append(append(append(out, kind...), now...), "\r\n"...)
		before = text
	}
	return out
}
