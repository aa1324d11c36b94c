package faults

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Spec is one fault of a plan: what is done, to whom, at which moment, for how long. Scenario files are lists of it, and it
// means the same in the real world and in the simulator.
type Spec struct {
	// Fault is a name of the vocabulary, such as pause-client.
	Fault string `yaml:"fault" json:"fault"`
	// Client is the number of the client it is done to, from 1; 0 means drawn from the seed.
	Client int `yaml:"client,omitempty" json:"client,omitempty"`
	// Node is the number of the node it is done to, from 1; 0 means drawn from the seed, for faults of nodes.
	Node int `yaml:"node,omitempty" json:"node,omitempty"`
	// When is the moment at which it strikes. Empty means that it is in force from the start, for faults that can be.
	When Trigger `yaml:"when,omitempty,flow" json:"when,omitzero"`
	// For is how long it lasts; zero means for ever, or that the fault is instantaneous.
	For Span `yaml:"for,omitempty" json:"for,omitzero"`
	// Until names an event that must happen after For before it ends: other-entered (another client enters its critical
	// section). It is waited for at most ten leases.
	Until string `yaml:"until,omitempty" json:"until,omitempty"`
	// By is the size of a clock fault, of a delay, or of a limit, by fault.
	By Span `yaml:"by,omitempty" json:"by,omitzero"`
	// Rate is the speed of a drifting clock (1 = true), or bytes per second of a limited link.
	Rate float64 `yaml:"rate,omitempty" json:"rate,omitempty"`
	// Times is how often it is repeated at the same trigger; 0 means once.
	Times int `yaml:"times,omitempty" json:"times,omitempty"`
}

// lasts tells a fault that has a time from one that is done at once, or stays.
func (s Spec) lasts() bool { return s.For != (Span{}) || s.Until != "" }

// Trigger names a moment. Exactly one of Moment, Request, Reply, After and Within is set.
type Trigger struct {
	// Moment is a step that workloads announce: calling, granted, entered, before-release, released.
	Moment string `yaml:"moment,omitempty" json:"moment,omitempty"`
	// Request strikes before a request leaves the client. Reply strikes when the request has been applied and its
	// reply is there, but the client has not seen it. Both name an operation (acquire, extend, release, use, any) and may
	// name a command: "acquire", "acquire SET", "release EVALSHA". "acquire *w" means commands that write.
	Request string `yaml:"request,omitempty" json:"request,omitempty"`
	Reply   string `yaml:"reply,omitempty" json:"reply,omitempty"`
	// After strikes at a time after the start of the run.
	After Span `yaml:"after,omitempty" json:"after,omitzero"`
	// Within strikes at a time after the start of the run that is drawn from the seed, up to this. A resolved plan has
	// After instead.
	Within Span `yaml:"within,omitempty" json:"within,omitzero"`
	// Nth is which match of Moment, Request or Reply, counted per client from 1; 0 means 1.
	Nth int `yaml:"nth,omitempty" json:"nth,omitempty"`
	// Anyone takes the first match of whichever client, in place of one client's: who comes when is luck on real servers, and a
	// client that had to wait for its turn too long would find nobody left to harm, or never get it. A fault of one client is done to
	// the client that came first. Times counts over all clients.
	Anyone bool `yaml:"anyone,omitempty" json:"anyone,omitempty"`
}

// Span is a time that may be given in leases: "250ms" or "1.5 lease".
type Span struct {
	Fixed  time.Duration
	Leases float64
}

// Of resolves the span for a lease.
func (s Span) Of(lease time.Duration) time.Duration {
	return s.Fixed + time.Duration(s.Leases*float64(lease))
}

// ParseSpan reads "250ms", "1.5 lease", "1 lease + 20ms" or "-2 lease".
func ParseSpan(text string) (Span, error) {
	var s Span
	for part := range strings.SplitSeq(text, "+") {
		part = strings.TrimSpace(part)
		if n, ok := strings.CutSuffix(part, "lease"); ok {
			f, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
			if err != nil {
				return Span{}, fmt.Errorf("%q: a span in leases looks like \"1.5 lease\"", text)
			}
			s.Leases += f
			continue
		}
		d, err := time.ParseDuration(part)
		if err != nil {
			return Span{}, fmt.Errorf("%q: a span looks like \"250ms\", \"1.5 lease\" or \"1 lease + 20ms\"", text)
		}
		s.Fixed += d
	}
	return s, nil
}

// String gives the text that ParseSpan reads back.
func (s Span) String() string {
	switch {
	case s.Leases == 0:
		return s.Fixed.String()
	case s.Fixed == 0:
		return strconv.FormatFloat(s.Leases, 'g', -1, 64) + " lease"
	}
	return strconv.FormatFloat(s.Leases, 'g', -1, 64) + " lease + " + s.Fixed.String()
}

// UnmarshalText reads the text form.
func (s *Span) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSpan(string(text))
	return err
}

// MarshalText gives the text form.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
