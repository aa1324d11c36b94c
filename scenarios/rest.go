package scenarios

import (
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
)

// validateRest validates a scenario of which some values could not be read. It records only errors
// that there would be whatever those values are.
func (d *decoder) validateRest(s Scenario, own impls.Topology) {
	unread := d.errs
	// it may be the misspelt name of a field that is not given
	unknown := slices.ContainsFunc(unread, func(e *Error) bool {
		return parent(e.Path) == "" && strings.HasPrefix(e.Message, "unknown field")
	})
	hidden := func(path string) bool {
		_, given := d.at[path]
		return !given && unknown && parent(path) == "" || slices.ContainsFunc(unread, func(e *Error) bool { return concerns(e.Path, path) })
	}
	if hidden("topology") {
		s.Topology, own = "", ""
	}
	// Values on which the validity of others depends are replaced by those with which they are valid.
	second := faults.Span{Fixed: time.Second}
	for path, set := range map[string]func(){
		"clients":  func() { s.Clients = maxClients },
		"nodes":    func() { s.Nodes = faults.MaxNodes },
		"rate":     func() { s.Rate = 1 },
		"lease":    func() { s.Lease = second },
		"duration": func() { s.Length = second },
	} {
		if hidden(path) {
			set()
		}
	}
	s.validate(own, func(path, format string, args ...any) {
		if !hidden(path) {
			d.problem(path, format, args...)
		}
	})
}

// concerns reports whether an error at one path may be the reason for one at another: one path is
// within the other, or both are of one fault. A word of a fault is unknown whatever the rest of the
// fault is.
func concerns(wrong, path string) bool {
	if wrong == "" || wrong == path || strings.HasPrefix(path, wrong+".") || strings.HasPrefix(wrong, path+".") {
		return true
	}
	of, rest := ofFault(path)
	other, _ := ofFault(wrong)
	return of != "" && of == other && !slices.Contains([]string{"fault", "until", "when.moment", "when.request", "when.reply"}, rest)
}

// ofFault splits a path within a fault, such as faults.0.when.nth, into that of the fault and the
// rest; "" if it is not within one.
func ofFault(path string) (fault, rest string) {
	list, rest, _ := strings.Cut(path, ".")
	number, rest, within := strings.Cut(rest, ".")
	if list != "faults" || !within {
		return "", ""
	}
	return list + "." + number, rest
}
