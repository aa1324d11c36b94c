package sim

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// subscriptions holds a node's channels and patterns. A message is an event of the connection, like a reply; miniredis would run two goroutines.
type subscriptions struct {
	channels map[string][]*conn
	patterns map[string][]*conn
}

func subscribeConn(set *map[string][]*conn, name string, cn *conn) {
	if *set == nil {
		*set = map[string][]*conn{}
	}
	if !slices.Contains((*set)[name], cn) {
		(*set)[name] = append((*set)[name], cn)
	}
}

func unsubscribeConn(set map[string][]*conn, name string, cn *conn) {
	rest := slices.DeleteFunc(slices.Clone(set[name]), func(o *conn) bool { return o == cn })
	if len(rest) == 0 {
		delete(set, name)
		return
	}
	set[name] = rest
}

// listening returns the channels of a connection, in order of name.
func listening(set map[string][]*conn, cn *conn) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if slices.Contains(set[name], cn) {
			names = append(names, name)
		}
	}
	return names
}

func (s *subscriptions) forget(cn *conn) {
	for _, set := range []map[string][]*conn{s.channels, s.patterns} {
		for _, name := range listening(set, cn) {
			unsubscribeConn(set, name, cn)
		}
	}
}

func (s *subscriptions) has(cn *conn) bool { return s.count(cn) > 0 }

func (s *subscriptions) count(cn *conn) int {
	return subscribed(s.channels, cn) + subscribed(s.patterns, cn)
}

func subscribed(set map[string][]*conn, cn *conn) (n int) {
	for _, conns := range set {
		if slices.Contains(conns, cn) {
			n++
		}
	}
	return n
}

// subscribe runs SUBSCRIBE, PSUBSCRIBE and their opposites; each channel is confirmed by its own reply.
func (n *node) subscribe(s *session, name string, channels []string) {
	set := &n.subs.channels
	word := strings.ToLower(name)
	if name[0] == 'P' {
		set = &n.subs.patterns
	}
	adding := word == "subscribe" || word == "psubscribe"
	if !adding && len(channels) == 0 {
		channels = listening(*set, s.conn)
	}
	for _, c := range channels {
		if adding {
			subscribeConn(set, c, s.conn)
		} else {
			unsubscribeConn(*set, c, s.conn)
		}
		confirm(s.peer, word, c, n.subs.count(s.conn))
	}
	if len(channels) == 0 {
		s.peer.Block(func(w *server.Writer) {
			w.WritePushLen(3)
			w.WriteBulk(word)
			w.WriteNull()
			w.WriteInt(n.subs.count(s.conn))
		})
	}
}

func confirm(p *server.Peer, word, channel string, count int) {
	p.Block(func(w *server.Writer) {
		w.WritePushLen(3)
		w.WriteBulk(word)
		w.WriteBulk(channel)
		w.WriteInt(count)
	})
}

// publish queues a message at every subscribed connection, in order of subscription, and replies with their number on this node.
func (n *node) publish(s *session, args []string) {
	s.peer.WriteInt(n.spread(args[0], args[1]))
}

// spread queues a message for the subscribers of every node of a cluster, and returns the number of those at this node.
func (n *node) spread(channel, message string) (count int) {
	if n.shard == nil {
		return n.deliver(channel, message)
	}
	for _, other := range n.shard.nodes {
		if here := other.deliver(channel, message); other == n {
			count = here
		}
	}
	return count
}

// deliver queues a message at every subscribed connection of this node, and returns their number.
func (n *node) deliver(channel, message string) (count int) {
	for _, cn := range n.subs.channels[channel] {
		cn.publish("message", channel, message)
		count++
	}
	for _, pattern := range slices.Sorted(maps.Keys(n.subs.patterns)) {
		if !matches(pattern, channel) {
			continue
		}
		for _, cn := range n.subs.patterns[pattern] {
			cn.publish("pmessage", pattern, channel, message)
			count++
		}
	}
	return count
}

// matches reports whether a name matches a pattern of Redis, to which a slash is a character like any other.
func matches(pattern, name string) bool {
	noSlash := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(noSlash.Replace(pattern), noSlash.Replace(name))
	return ok && err == nil
}

// listens returns the error for a command that a connection must not send while it is subscribed; "" for one that it may.
func (n *node) listens(s *session, name string) string {
	if s.peer.Resp3 || len(n.subs.channels)+len(n.subs.patterns) == 0 || s.conn == nil || !n.subs.has(s.conn) {
		return ""
	}
	switch name {
	case "SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE", "PING", "QUIT":
		return ""
	}
	return "ERR Can't execute '" + strings.ToLower(name) + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
}

func (n *node) pubsub(s *session, args []string) {
	switch sub := strings.ToUpper(args[0]); {
	case sub == "NUMSUB":
		s.peer.WriteLen(2 * (len(args) - 1))
		for _, c := range args[1:] {
			s.peer.WriteBulk(c)
			s.peer.WriteInt(len(n.subs.channels[c]))
		}
	case sub == "CHANNELS" && len(args) < 3:
		s.peer.WriteStrings(slices.DeleteFunc(slices.Sorted(maps.Keys(n.subs.channels)), func(c string) bool { return len(args) > 1 && !matches(args[1], c) }))
	default:
		s.peer.WriteError("ERR unknown subcommand for 'pubsub'")
	}
}

// pushed returns the wire form of a message to a subscriber.
func pushed(resp3 bool, words []string) []byte {
	kind := byte('*')
	if resp3 {
		kind = '>'
	}
	b := append([]byte{kind}, strconv.Itoa(len(words))...)
	b = append(b, "\r\n"...)
	for _, w := range words {
		b = append(b, '$')
		b = strconv.AppendInt(b, int64(len(w)), 10)
		b = append(append(append(b, "\r\n"...), w...), "\r\n"...)
	}
	return b
}
