package bench

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads"
)

const us = int64(time.Microsecond)

// twoClients is a record in which c1 holds from 100 to 200 µs; c2 waits from 50 µs, is granted at
// 260 and releases at 300. The script of c1's release takes 20 µs each way.
func twoClients() slice {
	return slice{
		From: 0, To: 1000 * us, Setting: results.BenchSetting{Clients: 2, Keys: 1}, RoundTrip: 40 * time.Microsecond,
		ClientCPU: 400 * time.Microsecond, ServerCPU: 60 * time.Microsecond, Bytes: 1000,
		Ops: []history.Operation{
			{Client: "c1", Op: history.Acquire, Key: "job", Call: 0, Return: 100 * us, Outcome: history.OK},
			{Client: "c2", Op: history.Acquire, Key: "job", Call: 50 * us, Return: 260 * us, Outcome: history.OK},
			{Client: "c1", Op: history.Release, Key: "job", Call: 200 * us, Return: 245 * us, Outcome: history.OK},
			{Client: "c2", Op: history.Release, Key: "job", Call: 300 * us, Return: 340 * us, Outcome: history.OK},
		},
		Commands: []history.Command{
			{Client: "c1", Name: "SET", Sent: 10 * us, Replied: 90 * us},
			{Client: "c2", Name: "SET", Sent: 60 * us, Replied: 110 * us},
			{Client: "c1", Name: "EVALSHA", Sent: 200 * us, Replied: 240 * us},
			{Client: "c2", Name: "SET", Sent: 215 * us, Replied: 255 * us},
			{Client: "c2", Name: "EVALSHA", Sent: 300 * us, Replied: 340 * us},
			// to the guarded store, not counted for the lock
			{Client: "c2", Name: "GET", Node: -1, Sent: 310 * us, Replied: 320 * us},
		},
	}
}

func TestMeasure(t *testing.T) {
	s := twoClients()
	got := measureSlice(s)
	for _, row := range []struct {
		metric string
		want   float64
	}{
		{"throughput", 2000}, // 2 in a millisecond
		{"requests", 2.5},    // 5 for 2 holds
		{"bytes", 500},
		{"client-cpu", 200e3},
		{"server-cpu", 30e3},
		{"jain", 1},             // one each
		{"bypasses", 0},         // c1 called first
		{"longest-wait", 210e3}, // c2's
		{"errors", 0},
	} {
		if v := got[row.metric].Value; v == nil || math.Abs(*v-row.want) > 1e-6 {
			t.Errorf("%s is %v, want %v", row.metric, v, row.want)
		}
	}
	if s := got["hand-over.trips.p50"]; s.Value != nil || s.Count != 1 || math.Abs(s.Raw[0]-1) > 1e-9 {
		t.Errorf("hand-over: %+v, want one sample: from the middle of the script, at 220 µs, to 260 µs, a round trip", s)
	}
	if s := got["hand-over.p50"]; s.Count != 1 || s.Raw[0] != float64(60*us) {
		t.Errorf("hand-over from the call of the release: %+v, want 60 µs", s)
	}
	if s := got["hold.p50"]; s.Count != 2 || s.Value != nil {
		t.Errorf("hold: %+v, want two samples and no percentile", s)
	}
}

// TestWarmUpIsNotMeasured: operations that began before From are not counted.
func TestWarmUpIsNotMeasured(t *testing.T) {
	s := twoClients()
	s.From = 205 * us
	got := measureSlice(s)
	if v := got["throughput"]; v.Count != 1 {
		t.Errorf("throughput counts %d grants, want 1", v.Count)
	}
	if v := got["hand-over.p50"]; v.Count != 0 {
		t.Errorf("a hand-over that began in the warm-up is counted: %+v", v)
	}
	if v := got["requests"]; *v.Value != 2 {
		t.Errorf("requests %v, want 2", *v.Value)
	}
}

// TestIntendedStarts: the wait of a late client counts from its intended start, not from its call.
func TestIntendedStarts(t *testing.T) {
	s := slice{From: 0, To: 1e9, Setting: results.BenchSetting{Clients: 1, Keys: 1, Rate: 100}, Open: workloads.OpenLoop{Rate: 100, Clients: 1}}
	for n := range int64(10) {
		call := n * 10_000_000
		if n == 5 {
			call += 4_000_000 // late
		}
		s.Ops = append(s.Ops, history.Operation{Client: "c1", Op: history.Acquire, Key: "job", Call: call, Return: call + 1_000_000, Outcome: history.OK})
	}
	got := measureSlice(s)
	if v := *got["longest-wait"].Value; v != 5e6 {
		t.Errorf("longest wait %v, want 5 ms", v)
	}
	if v := *got["late"].Value; v != 0.1 {
		t.Errorf("late %v, want a tenth", v)
	}
	if v := *got["achieved"].Value; v != 0.1 {
		t.Errorf("achieved %v, want a tenth of 100/s", v)
	}
	if v := *got["acquire.service.p90"].Value; v != 1e6 {
		t.Errorf("service p90 %v, want 1 ms", v)
	}
}

func TestRecoveryAfterACrash(t *testing.T) {
	s := slice{From: 0, To: 1e9, Setting: results.BenchSetting{Clients: 2, Keys: 1, Crash: true},
		Windows: []history.Window{{Fault: crashClient, Client: "c1", Start: 100, Confirmed: true}},
		Ops: []history.Operation{
			{Client: "c1", Op: history.Acquire, Key: "job", Call: 0, Return: 50, Outcome: history.OK},
			{Client: "c2", Op: history.Acquire, Key: "job", Call: 60, Return: 2100, Outcome: history.OK},
		}}
	if v := measureSlice(s)["recovery"]; v.Value == nil || *v.Value != 2000 {
		t.Errorf("recovery %+v, want 2000 ns", v)
	}
}

// TestEffectOfARelease: when the command that freed the lock was executed.
func TestEffectOfARelease(t *testing.T) {
	release := history.Operation{Client: "c1", Op: history.Release, Call: 100, Return: 200}
	command := func(name string, node int, sent, replied int64) history.Command {
		return history.Command{Client: "c1", Name: name, Node: node, Sent: sent, Replied: replied}
	}
	tests := []struct {
		name string
		sent []history.Command
		want int64
		ok   bool
	}{
		{"one script", []history.Command{command("EVALSHA", 0, 110, 130)}, 120, true},
		{"look, then delete", []history.Command{command("GET", 0, 100, 110), command("DEL", 0, 120, 140)}, 130, true},
		{"delete, then announce", []history.Command{command("DEL", 0, 110, 120), command("PUBLISH", 0, 130, 150)}, 115, true},
		{"a transaction: at its EXEC", []history.Command{command("WATCH", 0, 100, 102), command("MULTI", 0, 110, 112), command("DEL", 0, 114, 116), command("EXEC", 0, 120, 130)}, 125, true},
		{"three nodes: at the second", []history.Command{command("EVALSHA", 0, 100, 110), command("EVALSHA", 1, 100, 130), command("EVALSHA", 2, 100, 190)}, 115, true},
		{"before the release", []history.Command{command("DEL", 0, 50, 60)}, 0, false},
		{"no reply was seen", []history.Command{command("DEL", 0, 110, 0)}, 0, false},
		{"another server", []history.Command{command("DEL", -1, 110, 120)}, 0, false},
	}
	for _, tt := range tests {
		at, ok := freedAt(&release, sentBy(tt.sent)["c1"])
		if at != tt.want || ok != tt.ok {
			t.Errorf("%s: %d, %v, want %d, %v", tt.name, at, ok, tt.want, tt.ok)
		}
	}
}

func TestJain(t *testing.T) {
	for _, row := range []struct {
		got  []int64
		want float64
	}{
		{[]int64{5, 5, 5, 5}, 1},     // equal
		{[]int64{10, 0, 0, 0}, 0.25}, // all to one
		{[]int64{0, 0}, 0},           // nothing to share
	} {
		if got := jain(row.got); math.Abs(got-row.want) > 1e-12 {
			t.Errorf("jain(%v) = %v, want %v", row.got, got, row.want)
		}
	}
}

func TestBypasses(t *testing.T) {
	op := func(client string, call, ret int64) history.Operation {
		return history.Operation{Client: client, Op: history.Acquire, Key: "job", Call: call, Return: ret, Outcome: history.OK}
	}
	ops := []history.Operation{op("c1", 0, 10), op("c2", 1, 50), op("c3", 5, 30), op("c1", 60, 70)}
	// c3 called acquire after c2 and was granted first. c1's second acquire came when no client
	// waited.
	if got := bypasses(ops, 0, 100); got != 1 {
		t.Errorf("%d bypasses, want 1", got)
	}
}

// TestEmptyCells: a cell without a hold is named; one that was never run has its own reason.
func TestEmptyCells(t *testing.T) {
	cell := func(lock string, granted ...int64) results.BenchCell {
		c := results.BenchCell{Lock: lock, Setting: results.BenchSetting{Clients: 1, Keys: 1}}
		for _, n := range granted {
			c.Figures = map[string]results.Figure{"throughput": {Samples: n}}
		}
		return c
	}
	got := emptyNotes([]results.BenchCell{cell("fair", 3), cell("token", 0), cell("redlock")})
	if want := []string{"no hold of token × 1 client was measured: make --duration longer"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
