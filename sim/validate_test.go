package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/workloads"
)

// TestImpossibleTapesAreRefused: what a tape must not say is an error when it is read, not a panic
// or a pass when it runs.
func TestImpossibleTapesAreRefused(t *testing.T) {
	const good = `{"schema":"lockbench/tape/v2","program":{"lock":"token","workload":"hot","config":{"Ops":1,"Lease":1000000000},"clients":2,"topology":"standalone",` +
		`"faults":[{"fault":"pause-client","client":1,"when":{"moment":"entered"},"for":"1.5 lease"}],"seed":1},"bounds":{"max_faults":1,"max_waits":1},` +
		`"choices":[],"hash":"a1","property":"mutual-exclusion","cause":"mis-unlock"}`
	for _, row := range []struct{ was, is, want string }{
		{"", "", ""}, // it is read
		// no such fault
		{`"fault":"pause-client"`, `"fault":"nope"`, `faults.0.fault: unknown fault "nope"`},
		// a fault without a name
		{`{"fault":"pause-client","client":1,`, `{`, "faults.0.fault: is missing"},
		// nor a moment
		{`,"when":{"moment":"entered"}`, ``, "faults.0.when: pause-client needs one of moment"},
		// a client that is not there
		{`"client":1`, `"client":999999999`, "faults.0.client: must be between 0 and 2"},
		// a node that is not there
		{`"client":1`, `"node":99`, "faults.0.node: must be between 0 and 1"},
		// a length that cannot be
		{`"for":"1.5 lease"`, `"for":"-1s"`, "faults.0.for: must not be negative"},
		// nothing would reproduce it
		{`"property":"mutual-exclusion"`, `"property":"nope"`, `unknown property "nope"`},
		// nor no property
		{`"property":"mutual-exclusion",`, ``, "the property is missing; known are exclusive-use"},
		// a misspelt cause
		{`"cause":"mis-unlock"`, `"cause":"mis-unlok"`, `unknown cause "mis-unlok"; did you mean`},
		// no such topology
		{`"topology":"standalone"`, `"topology":"x"`, `unknown topology "x"`},
		// no such workload
		{`"workload":"hot"`, `"workload":"hit"`, `unknown workload "hit"; did you mean "hot"?`},
		// no such persistence
		{`"seed":1`, `"persistence":"x"`, `unknown persistence "x"`},
		// a count below 0
		{`"seed":1`, `"permits":-3`, "permits -3: must not be negative"},
		{`"seed":1`, `"nodes":-1`, "nodes -1: must not be negative"}, // the same
		// more than a tape may have
		{`"seed":1`, `"nodes":10`, "nodes 10: at most 9"},
		{`"clients":2`, `"clients":65`, "clients 65: at most 64"}, // the same
		// a bound below 0
		{`"max_waits":1`, `"max_waits":-1`, "bounds.max_waits -1: must not be negative"},
		// a search of faults that are not known
		{`"max_waits":1`, `"max_waits":1,"faults":["x"]`, `bounds.faults: unknown fault "x"`},
		{`"hash":"a1"`, `"hash":"zz"`, `hash "zz": want the hash of a trace`}, // no hash
		// a fault that a schedule begins
		{`"choices":[]`, `"schedule":[{"kind":"begin","fault":{"fault":"x"}}]`, `schedule.0.fault: unkn`},
	} {
		text := strings.Replace(good, row.was, row.is, 1)
		if row.was != "" && text == good {
			t.Fatalf("%s is not in the tape", row.was)
		}
		_, err := ReadTape(strings.NewReader(text))
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "tape: "+row.want)) {
			t.Errorf("%s: %v, want %q", row.is, err, row.want)
		}
	}
}

// TestProgramsNameClientsAndNodesThatExist: the topology may be the lock's own, so that only the
// program that runs knows its nodes.
func TestProgramsNameClientsAndNodesThatExist(t *testing.T) {
	s := New(catalogue.Known{})
	defer s.Close()
	for _, f := range []faults.Spec{
		// of a single server
		{Fault: faults.KillServer, Node: 2, When: faults.Trigger{After: faults.Span{Fixed: time.Second}}},
		{Fault: faults.CrashClient, Client: 3, When: faults.Trigger{Moment: "entered"}}, // of two
		{Fault: "nope"}, // there is none
	} {
		_, err := s.Run(Program{Lock: "token", Load: "hot", Clients: 2, Config: workloads.Config{Ops: 1, Lease: time.Second}, Faults: []faults.Spec{f}}, 0)
		if err == nil || !strings.HasPrefix(err.Error(), "program: "+f.Fault) {
			t.Errorf("%+v: %v", f, err)
		}
	}
}
