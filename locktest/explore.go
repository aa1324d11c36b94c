package locktest

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/foreign"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/sim/search"
	"github.com/lockbench/lockbench/workloads"
)

// The options of Explore.
const (
	exploreSchedules = 2000
	exploreBudget    = 20 * time.Second
	exploreFaults    = 2
	leastSchedules   = 100
)

// Clients sets the number of clients in a schedule; the default is two.
func Clients(n int) Option { return func(c *config) { c.explore.clients = n } }

// Workload sets the clients' workload, by its name in "lockbench list workloads"; the default
// depends on the lock's methods.
func Workload(name string) Option { return func(c *config) { c.explore.workload = name } }

// Faults sets which faults may be injected, by their names in "lockbench list faults", and at most
// how many per schedule. The default is two, of the faults that a lock of this kind must withstand;
// Faults(0) means none.
func Faults(most int, names ...string) Option {
	return func(c *config) { c.explore.maxFaults, c.explore.faults = most, append([]string{}, names...) }
}

// Schedules sets how many schedules to run, without a time limit; the default is up to 2,000 in
// twenty seconds.
func Schedules(n int) Option { return func(c *config) { c.explore.schedules = n } }

// Replay runs only the schedule of a tape that a failed Explore has written.
func Replay(tape string) Option { return func(c *config) { c.explore.replay = tape } }

// Explore runs the lock in the simulator, under many schedules of its messages and of faults, and
// fails the test with the story of the first violation. It writes the tape of that schedule to
// testdata/locktest, and the failure says how to replay it. The lock must make its connections with
// Config.Redis or Config.Dial.
//
// The schedules run in separate processes, like the rules of Run.
func Explore(t *testing.T, newLock func(Config) (any, error), options ...Option) {
	t.Helper()
	cfg := configure(options)
	cfg.known(t)
	j := workerJob(t)
	t.Run("schedules", func(t *testing.T) {
		switch {
		case j == nil && cfg.explore.replay != "":
			cfg.replay(t, newLock)
		case j == nil:
			cfg.search(t, newLock)
		case j.Test == t.Name():
			search.WorkerMain(os.Stdin, os.Stdout, only{cfg.subject(t, newLock)})
		}
	})
}

// only is a catalogue of one lock.
type only struct{ v impls.Variant }

// Find returns the lock for any name.
func (o only) Find(string) (impls.Variant, bool) { return o.v, true }

// ScriptNames returns the script names of a lockbench variant; a library has none.
func (o only) ScriptNames() map[string]string {
	names := map[string]string{}
	for _, s := range o.v.Scripts {
		names[s.Digest()] = s.Name
	}
	return names
}

// subject returns the lock as a variant for the simulator.
func (cfg config) subject(t *testing.T, newLock factory) impls.Variant {
	t.Helper()
	if !cfg.Variant {
		c := newTrial(t.Name(), nil, cfg, virtualNodes(t, cfg.nodes))
		c.slack = realSlack
		shaped, problem := c.methods(newLock)
		switch {
		case c.unknown(problem):
			t.Skip(lacking + problem)
		case problem != "":
			t.Fatal(problem)
		}
		cfg = shaped
	}
	mk := cfg.maker(newLock)
	v := impls.Variant{Name: t.Name(), Kind: cfg.kind, Traits: cfg.Traits, Topology: cfg.topology, Drift: cfg.kept(cfg.lease) - cfg.least(cfg.lease)}
	switch {
	case v.Kind != history.Mutex:
	case v.Traits.Shared:
		v.Kind = history.RW
	case v.Traits.Reentrant:
		v.Kind = history.Reentrant
	}
	v.New = func(env impls.Env) (impls.Lock, error) {
		if cfg.least(cfg.lease) != cfg.lease { // the program uses the shortest that the server keeps
			env.Lease = cfg.lease
		}
		return mk(env)
	}
	return v
}

// program returns what the clients of each schedule do.
func (cfg config) program(t *testing.T, v impls.Variant) (sim.Program, sim.Bounds) {
	t.Helper()
	x := cfg.explore
	p := sim.DefaultProgram(v)
	p.Clients = cmp.Or(x.clients, p.Clients)
	p = p.WithLease(cfg.least(cfg.lease))
	p.Renews = p.Renews || !cfg.Variant // methods don't show whether a lock renews by itself
	if cfg.nodes > 1 {
		p.Nodes = cfg.nodes
	}
	if x.workload != "" {
		w, ok := workloads.Find(x.workload)
		if !ok {
			t.Fatalf("no workload is called %q: see lockbench list workloads", x.workload)
		}
		p.Load, p.Workload, p.Also = w.Name(), w, nil
	}
	b := sim.Bounds{Faults: x.faults, MaxFaults: x.maxFaults, MaxWaits: 2}
	if x.faults == nil {
		b.Faults, b.MaxFaults = sim.DefaultFaults(v), exploreFaults
	}
	return p, b
}

// search looks for a schedule with a violation, and fails the test with it.
func (cfg config) search(t *testing.T, newLock factory) {
	v := cfg.subject(t, newLock)
	p, b := cfg.program(t, v)
	c := search.Config{Program: p, Bounds: b, Schedules: cfg.explore.schedules,
		Command: sameTest(t.Name()), Env: []string{fmt.Sprintf(`%s={"test":%q}`, jobEnv, t.Name())}}
	if c.Schedules == 0 {
		c.Schedules, c.Budget = exploreSchedules, exploreBudget
	}
	r, err := search.Explore(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range r.Warnings {
		t.Log(w)
	}
	// without a number of schedules, their time may end before they do
	enough := cfg.explore.schedules == 0 && r.Schedules >= leastSchedules && r.Seconds >= exploreBudget.Seconds()
	switch {
	case r.First != nil:
		again := "the tape cannot be written"
		dir := filepath.Join("testdata", "locktest") // beside the test's other files
		file := filepath.Join(dir, url.PathEscape(strings.TrimSuffix(t.Name(), "/schedules"))+".tape")
		err := os.MkdirAll(dir, 0o777)
		if err == nil {
			err = os.WriteFile(file, []byte(r.Tape.String()), 0o666)
		}
		if err == nil {
			again = fmt.Sprintf("run it again: locktest.Explore(t, newLock, locktest.Replay(%q))", filepath.ToSlash(file))
		}
		t.Errorf("%s broken (%s) in schedule %d:\n%s\n%s", r.First.Property, r.First.Cause, r.First.Schedule, strings.Join(r.First.Steps, "\n"), again)
		if err != nil {
			t.Error(err)
		}
	case r.NotExplorable != "" && r.Schedules < leastSchedules:
		t.Skip(r.NotExplorable)
	case r.NotExplorable != "":
		t.Logf("%d schedules, no violation; then the search ended: %s", r.Schedules, r.NotExplorable)
	case r.Verdict != "pass" && !enough:
		t.Errorf("%s: %s; %d schedules were run", r.Verdict, r.Reason, r.Schedules)
	default:
		t.Logf("%d schedules, no violation; not counted: %s", r.Schedules, r.Exceptions())
		tellNever(t, r.NeverReached)
	}
}

// replay runs one schedule.
func (cfg config) replay(t *testing.T, newLock factory) {
	f, err := foreign.Open(cfg.explore.replay)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tape, err := sim.ReadTape(f)
	if err != nil {
		t.Fatalf("%s: %v", cfg.explore.replay, err)
	}
	s := sim.New(only{cfg.subject(t, newLock)})
	defer s.Close()
	broken, story, err := search.Breaks(t.Context(), s, tape)
	switch {
	case err != nil:
		t.Fatal(err)
	case broken:
		t.Errorf("%s broken (%s):\n%s", tape.Property, tape.Cause, strings.Join(story, "\n"))
	default:
		t.Logf("%s (%s) is no longer broken", tape.Property, tape.Cause)
	}
}
