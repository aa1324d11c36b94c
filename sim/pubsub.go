package sim

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// subscriptions are the channels and patterns that connections listen to on one node. miniredis runs two goroutines for
// each subscriber; here a published message is an event of the listening connection, like a reply.
type subscriptions struct {
	channels map[string][]*link
	patterns map[string][]*link
}

// add puts a link into a set and keeps its order of arrival.
func addLink(set *map[string][]*link, name string, l *link) {
	if *set == nil {
		*set = map[string][]*link{}
	}
	if !slices.Contains((*set)[name], l) {
		(*set)[name] = append((*set)[name], l)
	}
}

func dropLink(set map[string][]*link, name string, l *link) {
	rest := slices.DeleteFunc(slices.Clone(set[name]), func(x *link) bool { return x == l })
	if len(rest) == 0 {
		delete(set, name)
		return
	}
	set[name] = rest
}

// of lists what a link listens to, in order of name.
func listening(set map[string][]*link, l *link) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if slices.Contains(set[name], l) {
			names = append(names, name)
		}
	}
	return names
}

// forget removes a link that was closed.
func (s *subscriptions) forget(l *link) {
	for _, name := range listening(s.channels, l) {
		dropLink(s.channels, name, l)
	}
	for _, name := range listening(s.patterns, l) {
		dropLink(s.patterns, name, l)
	}
}

// has reports whether a link listens to anything.
func (s *subscriptions) has(l *link) bool { return s.count(l) > 0 }

func (s *subscriptions) count(l *link) int {
	return subscribed(s.channels, l) + subscribed(s.patterns, l)
}

// subscribed counts what a link listens to.
func subscribed(set map[string][]*link, l *link) (n int) {
	for _, links := range set {
		if slices.Contains(links, l) {
			n++
		}
	}
	return n
}

// subscribe runs SUBSCRIBE, PSUBSCRIBE and their opposites; each channel is confirmed by a reply of its own.
func (n *node) subscribe(s *session, name string, channels []string) {
	set := &n.subs.channels
	word := map[string]string{"SUBSCRIBE": "subscribe", "UNSUBSCRIBE": "unsubscribe", "PSUBSCRIBE": "psubscribe",
		"PUNSUBSCRIBE": "punsubscribe"}[name]
	if name[0] == 'P' {
		set = &n.subs.patterns
	}
	adding := word == "subscribe" || word == "psubscribe"
	if !adding && len(channels) == 0 {
		channels = listening(*set, s.link)
	}
	for _, c := range channels {
		if adding {
			addLink(set, c, s.link)
		} else {
			dropLink(*set, c, s.link)
		}
		confirm(s.peer, word, c, n.subs.count(s.link))
	}
	if len(channels) == 0 {
		s.peer.Block(func(w *server.Writer) {
			w.WritePushLen(3)
			w.WriteBulk(word)
			w.WriteNull()
			w.WriteInt(n.subs.count(s.link))
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

// publish queues a message at every listening link, in order of subscription, and answers how many there were on this node.
func (n *node) publish(s *session, args []string) {
	if len(args) != 2 {
		s.peer.WriteError("ERR wrong number of arguments for 'publish' command")
		return
	}
	s.peer.WriteInt(n.spread(args[0], args[1]))
}

// spread queues a message for the subscribers of every node of a cluster, and tells how many of them are this node's.
func (n *node) spread(channel, message string) (count int) {
	if n.shard == nil {
		return n.tell(channel, message)
	}
	for _, other := range n.shard.nodes {
		if told := other.tell(channel, message); other == n {
			count = told
		}
	}
	return count
}

// tell queues a message at every link that listens on this node, and tells how many there are.
func (n *node) tell(channel, message string) (count int) {
	for _, l := range n.subs.channels[channel] {
		l.push("message", channel, message)
		count++
	}
	for _, pattern := range slices.Sorted(maps.Keys(n.subs.patterns)) {
		if ok, err := path.Match(pattern, channel); err != nil || !ok {
			continue
		}
		for _, l := range n.subs.patterns[pattern] {
			l.push("pmessage", pattern, channel, message)
			count++
		}
	}
	return count
}

// pubsub answers PUBSUB NUMSUB and PUBSUB CHANNELS.
func (n *node) pubsub(s *session, args []string) {
	switch {
	case len(args) > 0 && strings.EqualFold(args[0], "numsub"):
		s.peer.WriteLen(2 * (len(args) - 1))
		for _, c := range args[1:] {
			s.peer.WriteBulk(c)
			s.peer.WriteInt(len(n.subs.channels[c]))
		}
	case len(args) > 0 && strings.EqualFold(args[0], "channels"):
		s.peer.WriteStrings(slices.Sorted(maps.Keys(n.subs.channels)))
	default:
		s.peer.WriteError("ERR unknown subcommand for 'pubsub'")
	}
}

// pushed is the wire form of a message to a subscriber.
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
