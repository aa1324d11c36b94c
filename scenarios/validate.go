package scenarios

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/workloads"
)

// The bounds of what a scenario may ask for.
const (
	maxClients = 1024
	maxNodes   = 9
)

// problems collects what is wrong with a scenario, by the path of the value.
type problems func(path, format string, args ...any)

// validate finds values that are out of range or contradict each other.
func (s Scenario) validate(bad problems) {
	s.validateNames(bad)
	s.validateNumbers(bad)
	s.validateSpans(bad)
	for i, f := range s.Faults {
		validateFault(f, s, func(path, format string, args ...any) {
			bad(join(fmt.Sprintf("faults.%d", i), path), format, args...)
		})
	}
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$`)

func (s Scenario) validateNames(bad problems) {
	if !nameForm.MatchString(s.Name) {
		bad("name", "%q: a name is letters and digits, joined by hyphens", s.Name)
	}
	var known []string
	for _, w := range workloads.All() {
		known = append(known, w.Name())
	}
	oneOf(bad, "workload", s.Workload, known)
	if s.Topology != "" {
		oneOf(bad, "topology", s.Topology, []impls.Topology{impls.Standalone, impls.Replicated, impls.Independent, impls.Cluster})
	}
	if s.Persistence != "" {
		oneOf(bad, "persistence", s.Persistence, []servers.Persistence{servers.PersistNone, servers.PersistEverySec, servers.PersistAlways})
	}
	for i, n := range s.Needs {
		oneOf(bad, fmt.Sprintf("needs.%d", i), n, Needs())
	}
}

// Needs lists what a scenario may ask of a variant.
func Needs() []string {
	return []string{"unfenced", "reentrant", "client-clock", "multi-command", "wakeups", "local-owner", "shared", "permits", "lease"}
}

func oneOf[S ~string](bad problems, path string, word S, known []S) {
	if slices.Contains(known, word) {
		return
	}
	words := make([]string, len(known))
	for i, k := range known {
		words[i] = string(k)
	}
	if word == "" {
		bad(path, "is missing; known are %s", list(words))
		return
	}
	if near := suggest(string(word), words); near != "" {
		bad(path, "unknown %s %q%s", lastOf(path), word, near)
		return
	}
	bad(path, "unknown %s %q; known are %s", lastOf(path), word, list(words))
}

// lastOf gives the last word of a path that is no index.
func lastOf(path string) string {
	parts := strings.Split(path, ".")
	for _, p := range slices.Backward(parts) {
		if p[0] < '0' || p[0] > '9' {
			return p
		}
	}
	return path
}

func (s Scenario) validateNumbers(bad problems) {
	between(bad, "clients", s.Clients, 1, maxClients)
	between(bad, "nodes", s.Nodes, 0, maxNodes)
	for _, n := range []struct {
		path  string
		value float64
	}{{"ops", float64(s.Ops)}, {"rate", s.Rate}, {"keys", float64(s.Keys)}, {"permits", float64(s.Permits)}, {"maxmemory", float64(s.MaxMemory)}} {
		if !(n.value >= 0 && n.value <= 1e15) {
			bad(n.path, "%v is out of range", n.value)
		}
	}
	if s.Ops == 0 && s.Length == (faults.Span{}) {
		bad("ops", "ops or duration must be given")
	}
}

func between(bad problems, path string, n, low, high int) {
	if n < low || n > high {
		bad(path, "%d is not between %d and %d", n, low, high)
	}
}

func (s Scenario) validateSpans(bad problems) {
	if s.Lease.Leases != 0 {
		bad("lease", "%s: the lease itself is not given in leases", s.Lease)
	} else if s.Lease.Fixed <= 0 {
		bad("lease", "must be more than 0")
	}
	for _, p := range []struct {
		path string
		span faults.Span
	}{{"duration", s.Length}, {"think", s.Think}, {"pause", s.Pause}, {"wait", s.Wait}, {"poll", s.Poll}} {
		notNegative(bad, p.path, p.span, s)
	}
}

func notNegative(bad problems, path string, span faults.Span, s Scenario) {
	if span.Of(s.Lease.Fixed) < 0 {
		bad(path, "%s is negative", span)
	}
}

func validateFault(f faults.Spec, s Scenario, bad problems) {
	kind, ok := faults.FindKind(f.Fault)
	if !ok {
		var known []string
		for _, k := range faults.Kinds() {
			known = append(known, k.Name)
		}
		oneOf(bad, "fault", f.Fault, known)
		return
	}
	between(bad, "client", f.Client, 0, s.Clients)
	between(bad, "node", f.Node, 0, maxNodes)
	if f.Client != 0 && kind.On != faults.OneClient && !placedAtClient(f) {
		bad("client", "%s is not done to one client", f.Fault)
	}
	if f.Node != 0 && !isNode(kind) {
		bad("node", "%s is not done to a node", f.Fault)
	}
	if f.Times < 0 {
		bad("times", "%d is negative", f.Times)
	}
	validateUses(f, kind, s, bad)
	validateTrigger(f.When, kind, s, func(path, format string, args ...any) { bad(join("when", path), format, args...) })
}

func isNode(k faults.Kind) bool { return k.On == faults.OneNode || k.On == faults.AllNodes }

// validateUses holds the fields that are set against those that the fault uses.
func validateUses(f faults.Spec, kind faults.Kind, s Scenario, bad problems) {
	set := map[string]bool{
		"for": f.For != (faults.Span{}), "by": f.By != (faults.Span{}), "rate": f.Rate != 0, "until": f.Until != "",
	}
	used := map[string]faults.Uses{}
	for _, u := range kind.Uses {
		used[u.Field] = u
	}
	for _, field := range []string{"for", "by", "rate", "until"} {
		u, known := used[field]
		switch {
		case set[field] && !known:
			bad(field, "%s has no use for it", f.Fault)
		case known && u.Required && !set[field]:
			bad(field, "%s needs it", f.Fault)
		}
	}
	notNegative(bad, "for", f.For, s)
	if f.Rate < 0 {
		bad("rate", "%v is negative", f.Rate)
	}
	if f.Until != "" {
		oneOf(bad, "until", f.Until, []string{"other-entered"})
	}
}

// Moments lists the moments that workloads announce.
func Moments() []history.Moment {
	return []history.Moment{history.Calling, history.Granted, history.Refused, history.Entered, history.BeforeRelease, history.Released}
}

func validateTrigger(t faults.Trigger, kind faults.Kind, s Scenario, bad problems) {
	n := 0
	for _, set := range []bool{t.Moment != "", t.Request != "", t.Reply != "", t.After != (faults.Span{}), t.Within != (faults.Span{})} {
		if set {
			n++
		}
	}
	switch {
	case n > 1:
		bad("", "want exactly one of moment, request, reply, after and within")
	case n == 0 && !kind.FromStart:
		bad("", "%s needs one of moment, request, reply, after and within", kind.Name)
	case n == 1 && kind.OnlyStart:
		bad("", "%s can only be in force from the start", kind.Name)
	}
	if t.Moment != "" {
		oneOf(bad, "moment", history.Moment(t.Moment), Moments())
	}
	validatePattern(bad, "request", t.Request)
	validatePattern(bad, "reply", t.Reply)
	notNegative(bad, "after", t.After, s)
	notNegative(bad, "within", t.Within, s)
	if t.Nth < 0 {
		bad("nth", "%d is negative; the first match is 1", t.Nth)
	}
	if t.Anyone && (t.Moment == "" || t.Nth > 1 || kind.On == faults.OneClient) {
		bad("anyone", "goes with a fault of servers at the first moment of some client")
	}
}

// Operations lists what the request or reply of a trigger may name.
func Operations() []string { return []string{"acquire", "use", "release", "any"} }

var commandForm = regexp.MustCompile(`^(\*w|[A-Za-z_.]+)$`)

func validatePattern(bad problems, path, text string) {
	if text == "" {
		return
	}
	op, command, both := strings.Cut(text, " ")
	if !slices.Contains(Operations(), op) {
		bad(path, "unknown operation %q; known are %s", op, list(Operations()))
	}
	if both && !commandForm.MatchString(command) {
		bad(path, "%q: behind the operation comes one command, or *w for those that write", text)
	}
}
