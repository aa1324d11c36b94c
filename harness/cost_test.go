package harness

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/perf/benchmath"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/internal/subprocess"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/workloads"
)

// chunk is how many rounds each client of a side does per turn: enough to include garbage
// collection and spilling, few enough that both sides see the same state of the machine.
const chunk = 2000

// BenchmarkCostOfTheHarness runs the same commands, on the same server, over as many connections,
// through a run's client path (gate, wires, moments, recorders, latencies, the spilling of the
// record) and through a bare go-redis loop, in turn. It prints the ratio of their throughputs with
// its interval over the turns, the processor time that each takes for a round, and the ratio of
// those with the server's own added: what the throughput comes to on a machine without an idle
// processor.
func BenchmarkCostOfTheHarness(b *testing.B) {
	for _, clients := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) { costOf(b, clients) })
	}
}

func costOf(b *testing.B, clients int) {
	v, _ := catalogue.Find("token")
	e := Experiment{Variant: v, Scenario: scenarios.Scenario{Name: "cost", Workload: "hot", Clients: clients, Ops: chunk},
		Provider: servers.NewProcess(servers.ProcessOptions{}), Now: time.Now, Random: rand.Reader}
	e.Scenario.Lease.Fixed = 10 * time.Second
	s, err := e.startServers(b.Context())
	if err != nil {
		b.Skip(err)
	}
	defer s.close()
	meter := redis.NewClient(workloads.ClientOptions(workloads.Access{Dial: s.dial}, nodeAddr(0)))
	defer meter.Close()
	ours, theirs := newOurs(b, e, s), newBare(b, e, s)
	defer ours.close()
	defer theirs.close()
	ours.turn(b, meter)
	theirs.turn(b, meter)
	var harness, bare spent
	var byTime, byProcessor []float64 // of each pair of turns
	for b.Loop() {
		h, p := ours.turn(b, meter), theirs.turn(b, meter)
		harness.add(h)
		bare.add(p)
		byTime = append(byTime, p.wall.Seconds()/h.wall.Seconds())
		byProcessor = append(byProcessor, (p.cpu+p.server).Seconds()/(h.cpu+h.server).Seconds())
	}
	reportInterval(b, "harness/bare", byTime)
	reportInterval(b, "cpu-bound", byProcessor)
	rounds := float64(b.N * chunk * clients)
	b.ReportMetric(rounds/harness.wall.Seconds(), "rounds/s")
	b.ReportMetric(float64(harness.cpu)/rounds, "cpu-ns/round")
	b.ReportMetric(float64(bare.cpu)/rounds, "bare-cpu-ns/round")
	b.ReportMetric(float64(bare.server)/rounds, "server-cpu-ns/round")
	b.ReportMetric(0, "ns/op") // it would be of both sides together
}

// reportInterval reports the median of ratios and its 95 % interval, which needs six of them.
func reportInterval(b *testing.B, unit string, ratios []float64) {
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(ratios, &benchmath.DefaultThresholds), 0.95)
	b.ReportMetric(s.Center, unit)
	if !math.IsInf(s.Lo, 0) && !math.IsInf(s.Hi, 0) {
		b.ReportMetric(s.Lo, unit+"-low")
		b.ReportMetric(s.Hi, unit+"-high")
	}
}

// spent is what turns took: time, and processor time of this process and of the server.
type spent struct{ wall, cpu, server time.Duration }

func (s *spent) add(o spent) {
	s.wall, s.cpu, s.server = s.wall+o.wall, s.cpu+o.cpu, s.server+o.server
}

// side is one way for all clients to do a chunk of rounds, each on its own key.
type side struct {
	run    []func(context.Context) error
	after  func() // further work of a turn; may be nil
	closes []func() error
}

// turn does one chunk, after collecting the garbage of the other side's turn.
func (s *side) turn(b *testing.B, meter *redis.Client) spent {
	b.Helper()
	runtime.GC()
	server, cpu, start := serverTime(b, meter), subprocess.UsedCPU(), time.Now()
	var group sync.WaitGroup
	for _, run := range s.run {
		group.Go(func() {
			if err := run(b.Context()); err != nil {
				b.Error(err)
			}
		})
	}
	group.Wait()
	if s.after != nil {
		s.after()
	}
	took := spent{wall: time.Since(start), cpu: subprocess.UsedCPU() - cpu}
	took.server = serverTime(b, meter) - server
	return took
}

// serverTime returns the processor time that the server reports.
func serverTime(b *testing.B, c *redis.Client) (sum time.Duration) {
	text, err := c.Info(b.Context(), "cpu").Result()
	must(b, err)
	for _, line := range strings.Split(text, "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		if name == "used_cpu_sys" || name == "used_cpu_user" {
			seconds, err := strconv.ParseFloat(value, 64)
			must(b, err)
			sum += time.Duration(seconds * float64(time.Second))
		}
	}
	return sum
}

func (s *side) close() {
	for _, c := range s.closes {
		_ = c()
	}
}

func newOurs(b *testing.B, e Experiment, servers *deployment) *side {
	b.Helper()
	d := newServerDriver(e)
	d.servers = servers
	err := d.prepare(b.Context())
	must(b, err)
	must(b, d.arm(b.Context()))
	file, err := os.Create(filepath.Join(b.TempDir(), results.RecordingFile))
	must(b, err)
	// called once per turn instead of by a timer, so that each turn writes only its own records
	spool := &spool{driver: d, file: &blocks{file: file}, quit: make(chan struct{})}
	s := &side{after: func() { spool.write(math.MaxInt64) }, closes: []func() error{func() error { _, err := spool.end(); return err }}}
	hot, _ := workloads.Find("hot")
	for i := range e.Scenario.Clients {
		d.prefix = workloads.ClientName(i) + ":"
		c, end := d.join(b.Context(), i)
		s.run = append(s.run, func(ctx context.Context) error { return d.runClient(ctx, hot, c) })
		s.closes = append(s.closes, end)
	}
	return s
}

// newBare returns a client that sends exactly the bytes of the token lock, without lock or harness.
func newBare(b *testing.B, e Experiment, f *deployment) *side {
	b.Helper()
	s := &side{}
	release := e.Variant.Scripts[0]
	for i := range e.Scenario.Clients {
		c := redis.NewClient(workloads.ClientOptions(workloads.Access{Dial: f.dial}, nodeAddr(0)))
		key := workloads.ClientName(i) + ":bare"
		token, lease := make([]byte, impls.TokenBytes), e.lease().Milliseconds()
		s.closes = append(s.closes, c.Close)
		s.run = append(s.run, func(ctx context.Context) error {
			for range chunk {
				_, _ = rand.Read(token)
				value := hex.EncodeToString(token)
				if ok, err := c.Do(ctx, "set", key, value, "nx", "px", lease).Text(); err != nil || ok != "OK" {
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
