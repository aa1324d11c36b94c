package verdicts

import (
	"slices"
	"strings"
)

// Break is a violation of a property by a cause; "" means any cause.
type Break struct {
	Property Property
	Cause    Cause
}

// String returns "property/cause", or the property alone.
func (b Break) String() string {
	return strings.TrimSuffix(string(b.Property)+"/"+string(b.Cause), "/")
}

// Covers reports whether b equals seen, or omits its cause.
func (b Break) Covers(seen Break) bool {
	return b.Property == seen.Property && (b.Cause == "" || b.Cause == seen.Cause)
}

// Expectation is what a scenario must show for a lock. The zero value expects every property to
// hold.
type Expectation struct {
	Breaks []Break // each must be observed
	May    []Break // each may be observed
	Real   []Break // each may be observed on real servers; the simulator cannot show it
	NA     string  // if set, why the scenario does not apply
}

// Safe expects every property to hold.
func Safe() Expectation { return Expectation{} }

// NotApplicable expects nothing; why says why the scenario does not apply.
func NotApplicable(why string) Expectation { return Expectation{NA: why} }

// Breaks expects each of "property/cause" to be observed.
func Breaks(pairs ...string) Expectation { return Expectation{Breaks: parse(pairs)} }

// Or adds "property/cause" pairs that may be observed.
func (e Expectation) Or(pairs ...string) Expectation {
	e.May = slices.Clone(e.May)
	for _, b := range parse(pairs) {
		if !slices.Contains(e.Breaks, b) && !slices.Contains(e.May, b) {
			e.May = append(e.May, b)
		}
	}
	return e
}

// OrOnServers adds "property/cause" pairs that may be observed on real servers.
func (e Expectation) OrOnServers(pairs ...string) Expectation {
	e.Real = append(slices.Clone(e.Real), parse(pairs)...)
	return e
}

// OnServers returns the expectation for real servers.
func (e Expectation) OnServers() Expectation {
	real := e.Real
	e.Real = nil
	for _, b := range real {
		e = e.Or(b.String())
	}
	return e
}

// String returns "safe", "n/a: why", or the pairs with the optional ones in parentheses.
func (e Expectation) String() string {
	if e.NA != "" {
		return "n/a: " + e.NA
	}
	words := make([]string, 0, len(e.Breaks)+len(e.May))
	for _, b := range e.Breaks {
		words = append(words, b.String())
	}
	if len(words) == 0 {
		words = append(words, "safe")
	}
	for _, b := range e.May {
		words = append(words, "("+b.String()+")")
	}
	return strings.Join(words, " ")
}

// ParseExpectation reads what String has written.
func ParseExpectation(text string) (e Expectation) {
	if why, ok := strings.CutPrefix(text, "n/a: "); ok {
		return NotApplicable(why)
	}
	for word := range strings.FieldsSeq(text) {
		if optional, ok := strings.CutPrefix(word, "("); ok {
			e.May = append(e.May, parse([]string{strings.TrimSuffix(optional, ")")})...)
		} else if word != "safe" {
			e.Breaks = append(e.Breaks, parse([]string{word})...)
		}
	}
	return e
}

func parse(pairs []string) []Break {
	out := make([]Break, 0, len(pairs))
	for _, p := range pairs {
		property, cause, _ := strings.Cut(p, "/")
		out = append(out, Break{Property(property), Cause(cause)})
	}
	return out
}
