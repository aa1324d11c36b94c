package scenarios

import (
	"regexp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
)

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
	between(bad, "node", f.Node, 0, mostNodes(s))
	if f.Client != 0 && kind.On != faults.OneClient && !f.When.OfClient() {
		bad("client", "%s does not act on one client", f.Fault)
	}
	if f.Node != 0 && !kind.OnNode() {
		bad("node", "%s does not act on a node", f.Fault)
	}
	if f.Times < 0 {
		bad("times", "must not be negative")
	}
	if why := kind.Refusal("", s.Topology); why != "" && s.Topology != "" {
		bad("fault", "%s on topology %s: %s", f.Fault, s.Topology, why)
	}
	validateUses(f, kind, s, bad)
	validateTrigger(f.When, kind, s, func(path, format string, args ...any) { bad(join("when", path), format, args...) })
	validateRepeats(f, bad)
}

// mostNodes returns the highest node that a fault may name; maxNodes if the topology is the lock's own.
func mostNodes(s Scenario) int {
	if s.Topology == "" {
		return maxNodes
	}
	return s.NodeCount()
}

// validateRepeats reports counts of events that happen once.
func validateRepeats(f faults.Spec, bad problems) {
	t := f.When
	if t.Nth != 0 && t.Moment+t.Request+t.Reply == "" {
		bad("when.nth", "there is no moment, request or reply to count")
	}
	if f.Times > 1 && f.Fault == faults.Failover {
		bad("times", "a pair fails over once: the old primary does not return")
	}
	if f.Times > 1 && t == (faults.Trigger{}) {
		bad("times", "%s acts from the start, which happens once", f.Fault)
	}
}

// validateUses checks that the fault uses the fields that are set, and that required fields are set.
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
			bad(field, "%s does not use it", f.Fault)
		case known && u.Required && !set[field]:
			bad(field, "%s needs it", f.Fault)
		}
	}
	validateSizes(f, s, bad)
	if f.Until != "" {
		oneOf(bad, "until", f.Until, []string{faults.OtherEntered})
	}
	if f.Until == faults.OtherEntered && s.Clients == 1 {
		bad("until", "there is no other client")
	}
}

func validateSizes(f faults.Spec, s Scenario, bad problems) {
	notNegative(bad, "for", f.For, s)
	if f.Fault == faults.SlowNetwork {
		notNegative(bad, "by", f.By, s)
	}
	if f.Rate < 0 {
		bad("rate", "must not be negative")
	}
	if f.Fault == faults.DriftClock && f.Rate != 0 && (f.Rate < faults.SlowestClock || f.Rate > faults.FastestClock) {
		bad("rate", "must be between %v and %v", faults.SlowestClock, faults.FastestClock)
	}
}

// moments are what workloads announce.
var moments = []history.Moment{history.Calling, history.Granted, history.Refused, history.Entered, history.BeforeRelease, history.Released}

func validateTrigger(t faults.Trigger, kind faults.Kind, s Scenario, bad problems) {
	n := 0
	for _, set := range []bool{t.Moment != "", t.Request != "", t.Reply != "", t.After != (faults.Span{}), t.Within != (faults.Span{})} {
		if set {
			n++
		}
	}
	form := t.Form()
	switch {
	case n > 1:
		bad("", "want exactly one of moment, request, reply, after and within")
	case kind.At&form != 0:
	case kind.At == faults.AtRequest:
		bad("", "%s needs request: the request that is lost or held", kind.Name)
	case kind.At == faults.AtReply:
		bad("", "%s needs reply: the reply that is lost or held", kind.Name)
	case n == 0:
		bad("", "%s needs one of moment, request, reply, after and within", kind.Name)
	case kind.At == faults.AtStart:
		bad("", "%s can only act from the start", kind.Name)
	default:
		bad("", "%s is triggered at %s, not at %s", kind.Name, kind.At, form)
	}
	if t.Moment != "" {
		oneOf(bad, "moment", history.Moment(t.Moment), moments)
	}
	validatePattern(bad, "request", t.Request)
	validatePattern(bad, "reply", t.Reply)
	notNegative(bad, "after", t.After, s)
	notNegative(bad, "within", t.Within, s)
	if t.Nth < 0 {
		bad("nth", "%d is negative; the first match is 1", t.Nth)
	}
}

var commandForm = regexp.MustCompile(`^(\*w|[A-Za-z_.]+)$`)

func validatePattern(bad problems, path, text string) {
	if text == "" {
		return
	}
	op, command, both := strings.Cut(text, " ")
	if !slices.Contains(faults.Operations(), op) {
		bad(path, "unknown operation %q; known are %s", op, list(faults.Operations()))
	}
	if both && !commandForm.MatchString(command) {
		bad(path, "%q: after the operation comes one command, or *w for all that write", text)
	}
}
