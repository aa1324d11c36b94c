package bench

import (
	"maps"
	"slices"
	"sort"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// sentBy returns the answered commands of each client, in their order: by the time at which they
// were sent.
func sentBy(commands []history.Command) map[string][]*history.Command {
	out := map[string][]*history.Command{}
	for i := range commands {
		if c := &commands[i]; c.Node >= 0 && c.Replied > 0 {
			out[c.Client] = append(out[c.Client], c)
		}
	}

	return out
}

// freedAt estimates when the server executed the command that freed the lock, as the middle between
// sending it and its reply: the release's last on each node that changes data, and of several
// nodes, when a majority has. all are its client's commands; ok is false if the release sent none.
func freedAt(release *history.Operation, all []*history.Command) (at int64, ok bool) {
	first := sort.Search(len(all), func(i int) bool { return all[i].Sent >= release.Call })
	freed := map[int]int64{}
	for _, c := range all[first:] {
		if c.Sent > release.Return {
			break
		}
		if resp.IsWrite(c.Name) && c.Name != "PUBLISH" && c.Name != "SPUBLISH" {
			freed[c.Node] = c.Sent + (c.Replied-c.Sent)/2
		}
	}
	if len(freed) == 0 {
		return 0, false
	}
	middles := slices.Sorted(maps.Values(freed))
	return middles[len(middles)/2], true
}
