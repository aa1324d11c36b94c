package history_test

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// oneWrite counts the writes it sees and keeps what came with each.
type oneWrite struct{ parts [][]byte }

func (w *oneWrite) Write(p []byte) (int, error) {
	w.parts = append(w.parts, slices.Clone(p))
	return len(p), nil
}

func TestSpoolLeavesAReadableFileAfterEveryWrite(t *testing.T) {
	var file oneWrite
	var side bytes.Buffer
	w, err := history.NewZstdWriter(&file, history.Header{Kind: history.Mutex})
	if err != nil {
		t.Fatal(err)
	}
	commands, err := history.NewCommandWriter(&side, true)
	if err != nil {
		t.Fatal(err)
	}
	r := history.NewRecorder()
	a, b := r.Client("a"), r.Client("b")
	for round := range 3 {
		for i := range 10 {
			at := int64(round*100 + i)
			a.Add(history.Operation{Op: history.Use, Key: "k", Call: at, Return: at})
			b.Add(history.Operation{Op: history.Use, Key: "k", Call: at, Return: at})
			b.AddCommand(history.Command{Name: "GET", Sent: at})
		}
		if err := r.Spool(w, commands); err != nil {
			t.Fatal(err)
		}
		if len(file.parts) != round+1 {
			t.Fatalf("%d writes after %d spools", len(file.parts), round+1)
		}
		_, ops, err := readAll(bytes.NewReader(bytes.Join(file.parts, nil)))
		if err != nil || len(ops) != 20*(round+1) {
			t.Fatalf("after spool %d: %d operations, %v", round+1, len(ops), err)
		}
		for i, op := range ops {
			if op.ID != uint64(i)+1 || op.Client == "" {
				t.Fatalf("operation %d: %+v", i, op)
			}
		}
	}
	if n := len(r.Operations()); n != 0 {
		t.Errorf("%d operations kept after they were spooled", n)
	}
	n := 0
	if err := history.ReadCommands(&side, func(c history.Command) error { n++; return nil }); err != nil || n != 30 {
		t.Errorf("%d commands, %v", n, err)
	}
}

func TestNothingIsLostBetweenAddAndSpool(t *testing.T) {
	var file bytes.Buffer
	w, err := history.NewZstdWriter(&file, history.Header{Kind: history.Mutex})
	if err != nil {
		t.Fatal(err)
	}
	r := history.NewRecorder()
	var clients sync.WaitGroup
	for c := range 4 {
		rec := r.Client(fmt.Sprint("c", c))
		clients.Go(func() {
			for i := range 1000 {
				rec.Add(history.Operation{Op: history.Use, Key: "k", Call: int64(i), Return: int64(i)})
			}
		})
	}
	for range 50 {
		if err := r.Spool(w, nil); err != nil {
			t.Fatal(err)
		}
	}
	clients.Wait()
	if err := r.Spool(w, nil); err != nil {
		t.Fatal(err)
	}
	_, ops, err := readAll(&file)
	if err != nil || len(ops) != 4000 {
		t.Fatalf("%d operations, %v", len(ops), err)
	}
	next := map[string]int64{}
	for _, op := range ops {
		if op.Call != next[op.Client] {
			t.Fatalf("%s: operation %d where %d was due", op.Client, op.Call, next[op.Client])
		}
		next[op.Client]++
	}
}

func TestOperationsInMemoryAreInCallOrder(t *testing.T) {
	r := history.NewRecorder()
	a, b := r.Client("a"), r.Client("b")
	b.Add(history.Operation{Call: 3, Return: 9})
	b.Add(history.Operation{Call: 12, Return: 13})
	a.Add(history.Operation{Call: 5, Return: 6})
	a.AddCommand(history.Command{Sent: 2})
	b.AddCommand(history.Command{Sent: 1})
	var got string
	for _, op := range r.Operations() {
		got += fmt.Sprint(op.ID, op.Client, op.Call, " ")
	}
	for _, c := range r.Commands() {
		got += c.Client
	}
	if want := "1b3 2a5 3b12 ba"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func BenchmarkAdd(b *testing.B) {
	r := history.NewRecorder()
	c := r.Client("c")
	w := history.NewWriter(discard{}, history.Header{Kind: history.Mutex})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.Add(history.Operation{Op: history.Acquire, Key: "job", Call: int64(i), Return: int64(i)})
		if i%10_000 == 9_999 {
			b.StopTimer()
			_ = r.Spool(w, nil)
			b.StartTimer()
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
