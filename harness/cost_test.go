package harness

import (
	"context"
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/workloads"
)

// chunk is how many rounds one side does before it is the other's turn: short enough that both meet the same machine.
const chunk = 500

// BenchmarkCostOfTheHarness runs the same commands, on the same server, through a run's client path (gate, wires, moments,
// recorders, latencies, the spooling of the history) and through a bare go-redis loop, in turn, and prints the ratio of their throughputs.
func BenchmarkCostOfTheHarness(b *testing.B) {
	for _, clients := range []int{1, 8} {
		b.Run(map[int]string{1: "1-client", 8: "8-clients"}[clients], func(b *testing.B) { costOf(b, clients) })
	}
}

func costOf(b *testing.B, clients int) {
	v, _ := catalogue.Find("token")
	e := Experiment{Variant: v, Scenario: scenarios.Scenario{Name: "cost", Workload: "spread", Clients: clients, Ops: chunk},
		Provider: servers.NewProcess(servers.ProcessOptions{}), Now: time.Now, Random: rand.Reader}
	e.Scenario.Workload, e.Scenario.Lease.Fixed = "hot", 10*time.Second
	f, err := e.deploy(b.Context())
	if err != nil {
		b.Skip(err)
	}
	defer f.close()
	var harnessTime, bareTime time.Duration
	ours, theirs := newOurs(b, e, f), newBare(b, e, f)
	defer ours.close()
	defer theirs.close()
	ours.turn(b)
	theirs.turn(b)
	for b.Loop() {
		harnessTime += ours.turn(b)
		bareTime += theirs.turn(b)
	}
	b.ReportMetric(bareTime.Seconds()/harnessTime.Seconds(), "harness/bare")
	b.ReportMetric(float64(b.N*chunk*clients)/harnessTime.Seconds(), "rounds/s")
}

// side is one way to do a chunk of rounds with every client, each on a key of its own.
type side struct {
	run    []func(context.Context) error
	closes []func() error
}

func (s *side) turn(b *testing.B) time.Duration {
	b.Helper()
	start := time.Now()
	var group sync.WaitGroup
	for _, run := range s.run {
		group.Go(func() {
			if err := run(b.Context()); err != nil {
				b.Error(err)
			}
		})
	}
	group.Wait()
	return time.Since(start)
}

func (s *side) close() {
	for _, c := range s.closes {
		_ = c()
	}
}

func newOurs(b *testing.B, e Experiment, f *field) *side {
	b.Helper()
	d, err := e.newDrive(b.Context(), f)
	if err != nil {
		b.Fatal(err)
	}
	if d.injected, err = d.arm(b.Context()); err != nil {
		b.Fatal(err)
	}
	dir, err := results.Create(b.TempDir(), "cost", "token", e.Now(), "0")
	if err != nil {
		b.Fatal(err)
	}
	spool := (&keeper{dir: dir}).startSpool(d)
	s := &side{closes: []func() error{spool.end}}
	hot, _ := workloads.Find("hot")
	for i := range e.Scenario.Clients {
		d.prefix = workloads.ClientName(i) + ":"
		m := d.join(b.Context(), i)
		s.run = append(s.run, func(ctx context.Context) error { return hot.Run(ctx, m.client) })
		s.closes = append(s.closes, m.close)
	}
	return s
}

// newBare does what the token lock does with nothing around it.
func newBare(b *testing.B, e Experiment, f *field) *side {
	b.Helper()
	s := &side{}
	release := e.Variant.Scripts[0]
	for i := range e.Scenario.Clients {
		c := redis.NewClient(workloads.ClientOptions(workloads.Access{Dial: f.dial}, nodeAddr(0)))
		key := "bare" + workloads.ClientName(i)
		token := make([]byte, 20)
		s.closes = append(s.closes, c.Close)
		s.run = append(s.run, func(ctx context.Context) error {
			for range chunk {
				_, _ = rand.Read(token)
				value := string(token)
				if ok, err := c.SetNX(ctx, key, value, e.lease()).Result(); err != nil || !ok {
					b.Error("set", ok, err)
				}
				if n, err := release.Run(ctx, c, []string{key}, value).Int(); err != nil || n != 1 {
					b.Error("release", n, err)
				}
			}
			return nil
		})
	}
	return s
}
