package harness

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/workloads"
)

// A cluster refuses a request whose keys lie in several slots, so that a lock which sends one
// cannot work there. Rather than let a run find that out, two clients first use the lock on a
// simulated cluster, without faults, and the requests that they send are looked at.

// slots returns ErrNotApplicable, with the request, its keys and what would mend it, if a lock that
// is to run on a cluster sends such a request.
func (e Experiment) slots() error {
	if e.topology() != impls.Cluster || e.Variant.New == nil {
		return nil
	}
	w, _ := workloads.Find(e.Scenario.Workload)
	s := sim.New(catalogue.Known{})
	defer s.Close()
	cfg := e.config()
	cfg.Ops = 2
	out, err := s.Run(sim.Program{Variant: e.Variant, Workload: w, Config: cfg, Clients: 2, Topology: impls.Cluster, Poll: e.Scenario.Poll.Of(e.lease()),
		Permits: e.Scenario.Permits, Length: time.Minute}, 0)
	if err != nil {
		return err
	}
	for i := range out.Commands {
		if what := scattered(&out.Commands[i], e.Variant.Derives); what != "" {
			return fmt.Errorf("%s on a cluster: %w: %s", e.Variant.Name, ErrNotApplicable, what)
		}
	}
	return nil
}

// scattered describes a request whose keys, those that its script derives included, lie in several
// slots; "" if they lie in one.
func scattered(c *history.Command, derives impls.Deriver) string {
	keys := resp.Keys(append([]string{c.Name}, c.Args...))
	if len(keys) == 0 || c.Node < 0 {
		return ""
	}
	name := c.Name
	if c.Script != "" {
		name = c.Args[0]
		if derives != nil {
			keys = append(keys, derives.Derived(keys, c.Args[2+len(keys):])...)
		}
	}
	several, places := false, make([]string, len(keys))
	for i, key := range keys {
		several = several || resp.Slot(key) != resp.Slot(keys[0])
		places[i] = fmt.Sprintf("%s (slot %d)", key, resp.Slot(key))
	}
	if !several {
		return ""
	}
	return fmt.Sprintf("%s uses keys of several slots, which a cluster refuses (CROSSSLOT): %s; %s", name, strings.Join(places, ", "), mend(keys))
}

// mend says which hash tag puts keys into one slot: the words with which all begin.
func mend(keys []string) string {
	common := keys[0]
	for _, key := range keys {
		for !strings.HasPrefix(key, common) {
			common = common[:len(common)-1]
			common = strings.TrimRightFunc(common, isWord) // whole words
		}
	}
	common = strings.TrimRightFunc(common, func(r rune) bool { return !isWord(r) })
	if common == "" || strings.ContainsAny(common, "{}") {
		return "a hash tag, the same word in braces in each, puts them in one"
	}
	out := make([]string, len(keys))
	for i, key := range keys {
		out[i] = "{" + common + "}" + strings.TrimPrefix(key, common)
	}
	return "with a hash tag, " + strings.Join(out, ", ") + ", they lie in one"
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
