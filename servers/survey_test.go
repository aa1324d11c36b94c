package servers_test

import (
	"strings"
	"testing"

	"github.com/lockbench/lockbench/servers"
)

// clockFaults are the faults that take more than servers of the run's own.
var clockFaults = []servers.Ability{{Name: "jump-clock", Clock: true, Own: true}, {Name: "drift-clock", Clock: true, Own: true}}

// Without redis-server and a compiler, the survey says how to get them. It cannot be parallel: it
// changes PATH.
func TestSurveyOfABareMachine(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CC", "")
	t.Setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
	t.Setenv("LOCKBENCH_REDIS_IMAGE", "")
	bare := servers.NewProcess(servers.ProcessOptions{})
	all := servers.Survey(t.Context(), clockFaults, bare)
	if len(all) < 7+len(clockFaults) { // to serve, five topologies, persistence and more
		t.Fatalf("%d results: %+v", len(all), all)
	}
	for _, c := range all {
		if c.OK || c.Refused || !strings.Contains(c.Reason, "apt-get install redis-server") {
			t.Errorf("%s: %+v", c.Ability, c)
		}
	}
	_, err := bare.Start(t.Context(), alone)
	wantErr(t, "start without redis-server", err, servers.ErrMissing)
}

// A machine without a compiler supports everything but clock faults, and the survey says how to get
// one.
func TestSurveyWithoutCompiler(t *testing.T) {
	p := servers.NewProcess(servers.ProcessOptions{Binary: "/usr/bin/redis-server"})
	need(t, p)
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CC", "")
	all := servers.Survey(t.Context(), clockFaults, p)
	for _, c := range all {
		clock := c.Ability == "jump-clock" || c.Ability == "drift-clock"
		if c.OK == clock {
			t.Errorf("%+v", c)
		}
		if clock && !strings.Contains(c.Reason, "apt-get install gcc") {
			t.Errorf("how to get a compiler: %s", c.Reason)
		}
	}
	_, err := p.Start(t.Context(), servers.Spec{ClockFaults: true})
	wantErr(t, "clock faults without a compiler", err, servers.ErrMissing)
}

// This test lists what the survey finds on this machine; the tests of faults use it.
func TestSurveyOfThisMachine(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) {
		for _, c := range servers.Survey(t.Context(), clockFaults, p) {
			if !c.OK {
				t.Errorf("%s: %s", c.Ability, c.Reason)
			}
			if c.Ability == servers.CanServe && c.Detail == "" {
				t.Error("no detail of what was found")
			}
		}
	})
}
