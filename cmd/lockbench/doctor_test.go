package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/internal/testneeds"
	"github.com/lockbench/lockbench/servers"
)

func TestDoctor(t *testing.T) {
	testneeds.RedisBinary(t)
	gone := fmt.Errorf("redis-server: %w: apt install redis-server", servers.ErrMissing)
	for _, tt := range []struct {
		name      string
		providers []servers.Provider
		code      int
		says      []string
	}{
		{"one is there", []servers.Provider{fakeProvider{"docker", gone}, servers.NewProcess(servers.ProcessOptions{})}, 0,
			[]string{"auto     takes process", "docker  not available", "apt install redis-server", "standalone"}},
		{"none is there", []servers.Provider{fakeProvider{"process", gone}}, 5, []string{"takes nothing", "apt install redis-server"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(checker.Pass)
			w.providers = func() []servers.Provider { return tt.providers }
			w.exits(t, tt.code, "doctor")
			want(t, "stdout", w.out.String(), tt.says...)
		})
	}
}

func TestDoctorJSON(t *testing.T) {
	testneeds.RedisBinary(t)
	url, err := servers.NewURL(servers.Access{}, "redis://127.0.0.1:1")
	must(t, err)
	w := newWorld(checker.Pass)
	w.providers = func() []servers.Provider {
		return []servers.Provider{servers.NewProcess(servers.ProcessOptions{}), url}
	}
	w.exits(t, 0, "doctor", "-o", "json")
	var d diagnosis
	if err := json.Unmarshal([]byte(w.out.String()), &d); err != nil || d.Auto != "process" || d.Environment.Go == "" {
		t.Errorf("%v: %s", err, w.out)
	}
	if _, err := os.Stat("/proc/self/limits"); err == nil && d.OpenFiles < 1 {
		t.Error("nothing says how many connections there may be")
	}
	if !slices.ContainsFunc(d.Capabilities, func(c servers.Capability) bool { return c.Ability == faults.KillServer && !c.OK && c.Reason != "" }) {
		t.Error("nothing says that a user's Redis is not killed")
	}
}

// TestReasonsAreGrouped: one missing thing is said once, with all that it rules out.
func TestReasonsAreGrouped(t *testing.T) {
	d := diagnosis{Capabilities: []servers.Capability{
		{Provider: "p", Ability: servers.CanServe, OK: true, Detail: "redis 7"},
		{Provider: "p", Ability: "jump-clock", Reason: "jump-clock: a C compiler is missing\napt install gcc"},
		{Provider: "p", Ability: "drift-clock", Reason: "drift-clock: a C compiler is missing\napt install gcc"},
		{Provider: "p", Ability: "failover", OK: true}, {Provider: "q", Ability: servers.CanServe, Reason: "gone"},
	}}
	got := fmt.Sprint(d.about("p"), d.about("q"))
	const want = "[[p redis 7: failover] [ no jump-clock, drift-clock] [   a C compiler is missing] [   apt install gcc]] [[q not available] [   gone]]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
