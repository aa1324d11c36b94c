package bench

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"github.com/lockbench/lockbench/history"
)

// sentBy indexes the commands of each client by the time at which they were sent.
type sentBy map[string][]*history.Command

func indexCommands(commands []history.Command) sentBy {
	out := sentBy{}
	for i := range commands {
		if c := &commands[i]; c.Node >= 0 && c.Replied > 0 {
			out[c.Client] = append(out[c.Client], c)
		}
	}
	for _, all := range out {
		slices.SortStableFunc(all, func(a, b *history.Command) int { return cmp.Compare(a.Sent, b.Sent) })
	}
	return out
}

// effect estimates when the server executed the command that freed the lock, as the middle between
// sending it and its reply: the release's last on each node that changes data, and of several
// nodes, when a majority has. ok is false if the release sent none.
func (s sentBy) effect(release *history.Operation) (at int64, ok bool) {
	all := s[release.Client]
	first := sort.Search(len(all), func(i int) bool { return all[i].Sent >= release.Call })
	freed := map[int]int64{}
	for _, c := range all[first:] {
		if c.Sent > release.Return {
			break
		}
		if changes(c.Name) {
			freed[c.Node] = c.Sent + (c.Replied-c.Sent)/2
		}
	}
	if len(freed) == 0 {
		return 0, false
	}
	middles := slices.Sorted(maps.Values(freed))
	return middles[len(middles)/2], true
}

// changes reports whether a command can free a lock: it does more than read, announce, or prepare a
// connection.
func changes(name string) bool {
	switch name {
	case "GET", "MGET", "EXISTS", "HGET", "HEXISTS", "HLEN", "TTL", "PTTL", "TIME", "PING", "WATCH", "UNWATCH", "MULTI",
		"PUBLISH", "SPUBLISH", "SUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "SUNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE",
		"HELLO", "AUTH", "SELECT", "CLIENT", "INFO", "SCRIPT", "CLUSTER", "WAIT", "ZRANGE", "ZCARD", "ZCOUNT", "ZSCORE", "LRANGE", "LLEN", "LINDEX":
		return false
	}
	return true
}
