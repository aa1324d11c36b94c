package checker_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/history/synth"
)

// BenchmarkCheck judges histories of one key and 64 clients from a zstd file in memory, and prints operations per second and bytes allocated for
// each operation. Plain Porcupine stands beside it where it ends at all. 10,000,000 operations need LOCKBENCH_SOAK=1.
func BenchmarkCheck(b *testing.B) {
	sizes := []int{1_000, 10_000, 100_000, 1_000_000}
	if os.Getenv("LOCKBENCH_SOAK") != "" {
		sizes = append(sizes, 10_000_000)
	}
	for _, n := range sizes {
		for _, c := range []synth.Config{{}, {Refusals: true}, {Illegal: true}, {Refusals: true, Illegal: true}} {
			c.Ops = n
			b.Run(label(c)+"/lockbench", func(b *testing.B) { benchCheck(b, c) })
			// Plain Porcupine: 100,000 operations take 1.4 GB, and an illegal history of 10,000 with refusals does not end.
			if n <= 10_000 && (!c.Illegal || n <= 1_000) {
				b.Run(label(c)+"/porcupine", func(b *testing.B) { benchPorcupine(b, c) })
			}
		}
	}
}

func label(c synth.Config) string {
	legal, busy := "legal", "queueing"
	if c.Illegal {
		legal = "illegal"
	}
	if c.Refusals {
		busy = "refusals"
	}
	return fmt.Sprintf("%d/%s/%s", c.Ops, legal, busy)
}

// stored makes the compressed file of a history.
func stored(b testing.TB, c synth.Config) []byte {
	b.Helper()
	src := synth.New(c)
	var file bytes.Buffer
	w, err := history.NewZstdWriter(&file, src.Header())
	if err != nil {
		b.Fatal(err)
	}
	var op history.Operation
	for err = src.Next(&op); err == nil; err = src.Next(&op) {
		if err := w.Write(&op); err != nil {
			b.Fatal(err)
		}
	}
	if !errors.Is(err, io.EOF) {
		b.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return file.Bytes()
}

func benchCheck(b *testing.B, c synth.Config) {
	file := stored(b, c)
	measure(b, c.Ops, func() {
		in, err := history.NewReader(bytes.NewReader(file))
		if err != nil {
			b.Fatal(err)
		}
		v, err := checker.Check(b.Context(), checker.Input{Header: in.Header(), Ops: in}, checker.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if want := map[bool]checker.Result{false: checker.Pass, true: checker.Fail}[c.Illegal && c.Ops > 5000]; v.Verdict != want && c.Ops > 5000 {
			b.Fatalf("%s", v.Verdict)
		}
		if err := in.Close(); err != nil {
			b.Fatal(err)
		}
	})
}

// measure runs f, and reports operations per second and bytes allocated for each.
func measure(b *testing.B, ops int, f func()) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		f()
	}
	runtime.ReadMemStats(&after)
	n := float64(b.N) * float64(ops)
	b.ReportMetric(n/b.Elapsed().Seconds(), "ops/s")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/n, "bytes/op")
}

// benchPorcupine gives the same history, unwindowed, to an owner-aware mutex.
func benchPorcupine(b *testing.B, c synth.Config) {
	type input struct {
		client  string
		op      history.Op
		outcome history.Outcome
	}
	model := porcupine.Model{
		Init: func() any { return "" },
		Step: func(state, in, _ any) (bool, any) {
			owner, i := state.(string), in.(input)
			switch {
			case i.op == history.Release:
				return owner == i.client, ""
			case i.outcome == history.Busy:
				return owner != "", owner
			}
			return owner == "", i.client
		},
		Hash: func(state any) uint64 { return uint64(len(state.(string))) },
	}
	clients := map[string]int{}
	var ops []porcupine.Operation
	src := synth.New(c)
	var op history.Operation
	for src.Next(&op) == nil {
		if _, ok := clients[op.Client]; !ok {
			clients[op.Client] = len(clients)
		}
		ops = append(ops, porcupine.Operation{ClientId: clients[op.Client], Input: input{op.Client, op.Op, op.Outcome}, Call: op.Call, Return: op.Return})
	}
	measure(b, c.Ops, func() {
		if got := porcupine.CheckOperationsTimeout(model, ops, 20*time.Second); got == porcupine.Unknown {
			b.Skip("did not end within 20 s")
		}
	})
}
