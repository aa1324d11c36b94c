package explain_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
)

// TestDrawBlindSet draws failing cells at random over lock × scenario × seed, planted bugs included, half of them simulated and half on processes,
// and writes for each a reading sheet of one violation with everything but the cause. A reader who has not seen the tool's answer then names the
// cause; package explain keeps the cases (explain/testdata/blind). LOCKBENCH_BLIND names the directory, LOCKBENCH_BLIND_SEED another set.
func TestDrawBlindSet(t *testing.T) {
	dir := os.Getenv("LOCKBENCH_BLIND")
	if dir == "" {
		t.Skip("draws a set for readers; set LOCKBENCH_BLIND to a directory")
	}
	seed := uint64(1)
	if text := os.Getenv("LOCKBENCH_BLIND_SEED"); text != "" {
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatalf("LOCKBENCH_BLIND_SEED: %v", err)
		}
	}
	one := &harness.Sim{Schedules: 3}
	defer func() { _ = one.Close() }()
	b := &blindDraw{dir: dir, random: mathrand.New(mathrand.NewPCG(seed, 0xb11d))}
	b.draw(t, one, 50, 1)
	b.draw(t, servers.NewProcess(servers.ProcessOptions{TempDir: t.TempDir()}), 100, 4)
}

// blindDraw is a blind set being drawn.
type blindDraw struct {
	dir string

	mu     sync.Mutex // protects what follows
	random *mathrand.Rand
	cases  int
	runs   int
	large  int // cells left out because they are too long to read
}

// draw adds cases of one world until there are n in all.
func (b *blindDraw) draw(t *testing.T, p servers.Provider, n, side int) {
	var group sync.WaitGroup
	for range side {
		group.Go(func() {
			for b.wants(n) {
				b.one(t, p, n)
			}
		})
	}
	group.Wait()
	t.Logf("%s: %d cases of %d runs; %d were too large to read", p.Name(), b.cases, b.runs, b.large)
}

func (b *blindDraw) wants(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cases < n
}

// cell draws a lock and a scenario for which the catalogue has an expectation. On processes, where a run takes seconds, it is one in which the lock may
// break.
func (b *blindDraw) cell(quick bool) (v impls.Variant, s scenarios.Scenario, seed uint64, pick float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runs++
	locks, all := slices.Concat(catalogue.Locks(), catalogue.Planted()), scenarios.Builtin()
	for {
		v, s = locks[b.random.IntN(len(locks))], all[b.random.IntN(len(all))]
		want, known := v.Expect[s.Name]
		if known && want.NA == "" && (quick || len(want.Breaks)+len(want.May) > 0) {
			return v, s, b.random.Uint64N(1 << 32), b.random.Float64()
		}
	}
}

// one runs a cell, and keeps one of its violations if there is one.
func (b *blindDraw) one(t *testing.T, p servers.Provider, n int) {
	v, s, seed, pick := b.cell(p.Name() == "sim")
	name := fmt.Sprintf("%s × %s, %s, seed %d", v.Name, s.Name, p.Name(), seed)
	e := harness.Experiment{Variant: v, Scenario: s.Resolve(seed, v.Topology), Provider: p, Seed: seed, Now: time.Now, Random: rand.Reader}
	out, err := harness.Run(t.Context(), e)
	if err != nil {
		if !errors.Is(err, impls.ErrUnsupported) && !errors.Is(err, servers.ErrRefused) {
			t.Logf("%s: %v", name, err)
		}
		return
	}
	if out.Verdict.Verdict != checker.Fail {
		return
	}
	rec := explain.Record{Header: out.Record.Header, Ops: out.Record.Ops, Scripts: out.Record.Scripts, Faults: out.Windows}
	rec.Commands = slices.DeleteFunc(slices.Clone(out.Record.Commands), func(c history.Command) bool { return c.Node < 0 })
	c, err := newBlindCase(t.Context(), rec, pick)
	if err != nil || c == nil {
		t.Logf("%s: no case: %v", name, err)
		return
	}
	c.cell = name
	b.keep(t, c, n)
}

// mostCommands is the most commands of a case: longer ones are too long for a reader and for the repository.
const mostCommands = 3000

func (b *blindDraw) keep(t *testing.T, c *blindCase, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(c.rec.Commands) > mostCommands {
		b.large++
		return
	}
	if b.cases >= n {
		return
	}
	b.cases++
	c.write(t, b.dir, fmt.Sprintf("%03d", b.cases))
}

// newBlindCase picks a violation of a record by a number from 0 to 1: first a property, then one of its violations. It cuts the record after the
// violation if that is still found then.
func newBlindCase(ctx context.Context, rec explain.Record, pick float64) (*blindCase, error) {
	v, err := checkBlind(ctx, rec)
	if err != nil {
		return nil, err
	}
	x := picked(v, pick)
	if x == nil {
		return nil, nil
	}
	of, less := violationOf(x), cutAfter(rec, x)
	if again, err := checkBlind(ctx, less); err == nil && findViolation(again, of) != nil {
		rec, v, x = less, again, findViolation(again, of)
	}
	return &blindCase{rec: rec, verdict: v, violation: *x, of: of}, nil
}

// TestBlindSheets rewrites the sheets of the existing cases.
func TestBlindSheets(t *testing.T) {
	dir := os.Getenv("LOCKBENCH_BLIND")
	if dir == "" {
		t.Skip("writes sheets for readers; set LOCKBENCH_BLIND to a directory")
	}
	cases, err := filepath.Glob(filepath.Join(dir+"-sealed", "*", truthFile))
	if err != nil || len(cases) == 0 {
		t.Fatal(len(cases), err)
	}
	for _, path := range cases {
		loadCase(t, filepath.Dir(path)).write(t, dir, filepath.Base(filepath.Dir(path)))
	}
}

// picked returns a violation: each broken property has the same share of the numbers from 0 to 1.
func picked(v *checker.Verdict, pick float64) *checker.Violation {
	by := map[string][]*checker.Violation{}
	var names []string
	for i := range v.Violations {
		x := &v.Violations[i]
		if name := string(x.Property); !x.WithinClockError {
			if by[name] == nil {
				names = append(names, name)
			}
			by[name] = append(by[name], x)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	of, share := int(pick*float64(len(names))), pick*float64(len(names))
	list := by[names[of]]
	return list[int((share-float64(of))*float64(len(list)))]
}

// write writes the sheet, and beside the directory of sheets the record with the tool's answer.
func (c *blindCase) write(t *testing.T, dir, name string) {
	t.Helper()
	sealed := filepath.Join(dir+"-sealed", name)
	files := map[string]string{filepath.Join(dir, name+".txt"): c.sheet(name, false), sealed + ".txt": c.answer(t)}
	if full := c.sheet(name, true); full != files[filepath.Join(dir, name+".txt")] {
		files[filepath.Join(dir, name+".full")] = full
	}
	for path, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Error(err)
		}
	}
	if err := c.save(sealed); err != nil {
		t.Error(err)
	}
}

// answer returns the tool's answer to a case.
func (c *blindCase) answer(t *testing.T) string {
	t.Helper()
	a := c.explained(t)
	return fmt.Sprintf("%s\n%s\n%s\n%s\n", c.cell, c.of, a.Cause, said(a))
}
