package fakeredis

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/lockbench/lockbench/internal/resp"
)

// listeners has the connections that subscribe to a channel or pattern, by its name, in order of
// subscription. A message is an event of the connection, like a reply; miniredis would run two
// goroutines.
type listeners map[string][]Peer

func (l listeners) add(name string, cn Peer) {
	if !slices.Contains(l[name], cn) {
		l[name] = append(l[name], cn)
	}
}

func (l listeners) remove(name string, cn Peer) {
	l[name] = slices.DeleteFunc(l[name], func(o Peer) bool { return o == cn })
	if len(l[name]) == 0 {
		delete(l, name)
	}
}

// of returns the names to which a connection subscribes, in order.
func (l listeners) of(cn Peer) (names []string) {
	for name, conns := range l {
		if slices.Contains(conns, cn) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// subscriptions returns how many channels and patterns a peer subscribes to.
func (n *Node) subscriptions(p Peer) int { return len(n.channels.of(p)) + len(n.patterns.of(p)) }

// Forget ends all subscriptions of a peer, whose connection is gone.
func (n *Node) Forget(p Peer) {
	for _, l := range []listeners{n.channels, n.patterns} {
		for _, name := range l.of(p) {
			l.remove(name, p)
		}
	}
}

// Subscribed reports whether a peer has a subscription.
func (n *Node) Subscribed(p Peer) bool { return n.subscriptions(p) > 0 }

// Subscribers returns the peers by channel, and by pattern.
func (n *Node) Subscribers() []map[string][]Peer {
	return []map[string][]Peer{n.channels, n.patterns}
}

// subscribe runs SUBSCRIBE, PSUBSCRIBE and their opposites; each channel is confirmed by its own
// reply.
func (n *Node) subscribe(s *Session, name string, channels []string) {
	set, word := n.channels, strings.ToLower(name)
	if word[0] == 'p' {
		set = n.patterns
	}
	change := set.remove
	if word == "subscribe" || word == "psubscribe" {
		change = set.add
	} else if len(channels) == 0 {
		channels = set.of(s.conn)
	}
	confirm := func(writeChannel func(*server.Writer)) {
		s.peer.Block(func(w *server.Writer) {
			w.WritePushLen(3)
			w.WriteBulk(word)
			writeChannel(w)
			w.WriteInt(n.subscriptions(s.conn))
		})
	}
	for _, c := range channels {
		change(c, s.conn)
		confirm(func(w *server.Writer) { w.WriteBulk(c) })
	}
	if len(channels) == 0 {
		confirm((*server.Writer).WriteNull)
	}
}

// publish queues a message for the subscribers of the node, or of every node of its cluster, and
// replies with the number of those at this node.
func (n *Node) publish(s *Session, channel, message string) {
	nodes := []*Node{n}
	if n.shard != nil {
		nodes = n.shard.nodes
	}
	for _, other := range nodes {
		here := 0
		for _, cn := range other.channels[channel] {
			cn.Publish("message", channel, message)
			here++
		}
		for _, pattern := range slices.Sorted(maps.Keys(other.patterns)) {
			if !matches(pattern, channel) {
				continue
			}
			for _, cn := range other.patterns[pattern] {
				cn.Publish("pmessage", pattern, channel, message)
				here++
			}
		}
		if other == n {
			s.peer.WriteInt(here)
		}
	}
}

// matches reports whether a name matches a pattern of Redis, to which a slash is a character like
// any other.
func matches(pattern, name string) bool {
	noSlash := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(noSlash.Replace(pattern), noSlash.Replace(name))
	return ok && err == nil
}

// listens returns the error for a command that a connection must not send while it is subscribed;
// "" for one that it may.
func (n *Node) listens(s *Session, name string) string {
	if s.peer.Resp3 || len(n.channels)+len(n.patterns) == 0 || s.conn == nil || !n.Subscribed(s.conn) {
		return ""
	}
	switch name {
	case "SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE", "PING", "QUIT":
		return ""
	}
	return "ERR Can't execute '" + strings.ToLower(name) + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
}

func (n *Node) pubsub(s *Session, args []string) {
	switch sub := strings.ToUpper(args[0]); {
	case sub == "NUMSUB":
		s.peer.WriteLen(2 * (len(args) - 1))
		for _, c := range args[1:] {
			s.peer.WriteBulk(c)
			s.peer.WriteInt(len(n.channels[c]))
		}
	case sub == "CHANNELS" && len(args) < 3:
		s.peer.WriteStrings(slices.DeleteFunc(slices.Sorted(maps.Keys(n.channels)), func(c string) bool { return len(args) > 1 && !matches(args[1], c) }))
	default:
		s.peer.WriteError("ERR unknown subcommand for 'pubsub'")
	}
}

// Push returns the wire form of a message to a subscriber.
func Push(resp3 bool, words []string) []byte {
	b := resp.AppendRequest(nil, words...)
	if resp3 {
		b[0] = '>'
	}
	return b
}
