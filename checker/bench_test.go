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
)

// BenchmarkCheck judges histories of one key and 64 clients from a zstd file in memory, and prints
// operations per second and bytes allocated for each operation, beside plain Porcupine with a time
// limit. LOCKBENCH_SOAK=1 adds 10,000,000 operations and gives Porcupine 100 s instead of 10 s.
func BenchmarkCheck(b *testing.B) {
	sizes, limit := []int{1_000, 10_000, 100_000, 1_000_000}, 10*time.Second
	if os.Getenv("LOCKBENCH_SOAK") != "" {
		sizes, limit = append(sizes, 10_000_000), 100*time.Second
	}
	for _, n := range sizes {
		for _, c := range []synthetic{{}, {Refusals: true}, {Illegal: true}, {Refusals: true, Illegal: true}} {
			c.Ops = n
			b.Run(label(c)+"/lockbench", func(b *testing.B) { benchCheck(b, c) })
			if n <= 10_000 { // a set of n operations takes n bits, and plain Porcupine keeps n of them
				b.Run(label(c)+"/porcupine", func(b *testing.B) { benchPorcupine(b, c, limit) })
			}
		}
	}
}

func label(c synthetic) string {
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
func stored(b testing.TB, c synthetic) []byte {
	b.Helper()
	src := newGenerated(c)
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

func benchCheck(b *testing.B, c synthetic) {
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
		if want := map[bool]checker.Result{false: checker.Pass, true: checker.Fail}[c.Illegal]; v.Verdict != want {
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

// benchPorcupine returns the same history, unwindowed, to an owner-aware mutex.
func benchPorcupine(b *testing.B, c synthetic, limit time.Duration) {
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
	src := newGenerated(c)
	var op history.Operation
	for src.Next(&op) == nil {
		if _, ok := clients[op.Client]; !ok {
			clients[op.Client] = len(clients)
		}
		ops = append(ops, porcupine.Operation{ClientId: clients[op.Client], Input: input{op.Client, op.Op, op.Outcome}, Call: op.Call, Return: op.Return})
	}
	measure(b, c.Ops, func() {
		if porcupine.CheckOperationsTimeout(model, ops, limit) == porcupine.Unknown {
			b.Logf("> %v, no verdict", limit)
		}
	})
}
