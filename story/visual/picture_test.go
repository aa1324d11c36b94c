package visual

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

const msec = 1_000_000

// op makes an operation on k, with times in milliseconds.
func op(client string, what history.Op, call, ret int64, outcome history.Outcome) history.Operation {
	return history.Operation{Client: client, Op: what, Key: "k", Call: call * msec, Return: ret * msec, Outcome: outcome}
}

// restarted is a run in which, by the operations, the server forgot the first hold.
func restarted() []history.Operation {
	return []history.Operation{
		op("c1", history.Acquire, 0, 1, history.OK), op("c1", history.Use, 1, 900, history.None),
		op("c2", history.Acquire, 10, 202, history.OK), op("c2", history.Use, 202, 800, history.None),
	}
}

// violations returns the violations of some operations around a killed server.
func violations(t *testing.T, kind history.Kind, ops []history.Operation) []checker.Violation {
	t.Helper()
	for i := range ops {
		ops[i].ID = uint64(i) + 1
	}
	kill := history.Window{Fault: "kill-server", Node: 0, Start: 100 * msec, End: 180 * msec, Confirmed: true}
	in := checker.Input{Header: history.Header{Kind: kind, Lease: 2000 * msec}, Ops: history.NewSlice(ops), Faults: []history.Window{kill}}
	v, err := checker.Check(t.Context(), in, checker.Options{})
	if err != nil || len(v.Violations) == 0 {
		t.Fatal("nothing was found", err)
	}
	v.Violations[0].Story = []string{"the story of c1 & c2"}
	return v.Violations
}

// TestFailingCheckHasItsPicture: a violation has a picture with its story, the holds, the faults and the violation, and the page loads nothing.
func TestFailingCheckHasItsPicture(t *testing.T) {
	found := violations(t, history.Mutex, restarted())
	var page bytes.Buffer
	if err := Write(&page, &found[0]); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"the story of c1 &amp; c2", `"Tag":"c1 holds"`, `"Tag":"c2 holds"`, `"Tag":"kill-server n0"`,
		`"Tag":"violation"`, `"Description":"c2 acquire → granted"`, "render(data)",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, url := range regexp.MustCompile(`(https?:)?//[a-z0-9.]+\.[a-z]+[^'"]*`).FindAllString(page.String(), -1) {
		if url != "http://www.w3.org/2000/svg" { // the name of SVG, which is never fetched
			t.Errorf("the page names %s", url)
		}
	}
	if tags := regexp.MustCompile(`(?i)<(script|link|img|iframe)[^>]*(src|href)=`).FindAllString(page.String(), -1); len(tags) > 0 {
		t.Errorf("the page loads %v", tags)
	}
}

// TestEveryViolationHasAPicture: Porcupine finds no order of the picture's operations if two clients held at once, or if a free lock refused.
func TestEveryViolationHasAPicture(t *testing.T) {
	refused := []history.Operation{op("c1", history.Acquire, 0, 1, history.OK), op("c1", history.Release, 2, 3, history.OK), op("c2", history.Acquire, 10, 11, history.Busy)}
	written := append(restarted(), op("c1", history.Write, 300, 301, history.OK), op("c2", history.Write, 302, 303, history.OK))
	for i := range written[4:] {
		written[4+i].HasValue, written[4+i].Wrote = true, int64(i)+1
	}
	fenced := restarted()
	fenced[0].Fence, fenced[2].Fence = 2, 1
	found := map[verdicts.Property]int{}
	for _, kind := range []history.Kind{history.Mutex, history.Reentrant, history.RW, history.Semaphore} {
		for _, ops := range [][]history.Operation{restarted(), slices.Clone(refused), slices.Clone(written), slices.Clone(fenced)} {
			for _, v := range violations(t, kind, ops) {
				found[v.Property]++
				var page bytes.Buffer
				if err := Write(&page, &v); err != nil || page.Len() < 10_000 {
					t.Errorf("%s %s: %v, %d bytes", kind, v.Property, err, page.Len())
					continue
				}
				p := newPicture(&v)
				if legal := porcupine.CheckOperations(p.model(), p.ops); legal && (v.Property == verdicts.MutualExclusion || v.Property == verdicts.Refusal) {
					t.Errorf("%s at %d: the picture of a %s has an order", v.Property, v.At, kind)
				}
			}
		}
	}
	for _, p := range []verdicts.Property{verdicts.MutualExclusion, verdicts.ExclusiveUse, verdicts.StoreIntegrity, verdicts.Refusal, verdicts.FencingOrder, verdicts.Linearizability} {
		if found[p] == 0 {
			t.Errorf("no picture of %s", p)
		}
	}
}

// TestPictureIsCapped: of a long history, only the surroundings of the violation are drawn.
func TestPictureIsCapped(t *testing.T) {
	ops := restarted()
	for i := range int64(5000) {
		ops = append(ops, history.Operation{
			Client: fmt.Sprint("n", i%16), Op: history.Acquire, Key: "k", Outcome: history.Busy,
			Call: 203*msec + i*100_000 + i%16, Return: 203*msec + i*100_000 + i%16 + 50_000,
		})
	}
	found := violations(t, history.Mutex, ops)
	if n := len(found[0].Around.Operations); n > 104 || n < 50 {
		t.Errorf("%d operations are drawn", n)
	}
	var page bytes.Buffer
	if err := Write(&page, &found[0]); err != nil {
		t.Fatal(err)
	}
	if page.Len() > 300_000 {
		t.Errorf("the page has %d bytes", page.Len())
	}
}

func TestNoPictureOfWhatIsNotKnown(t *testing.T) {
	if err := Write(&bytes.Buffer{}, &checker.Violation{Property: verdicts.Hygiene}); !errors.Is(err, ErrNone) {
		t.Errorf("%v, want ErrNone", err)
	}
	found := violations(t, history.Mutex, restarted())
	if err := Write(failingWriter{}, &found[0]); !errors.Is(err, errDisk) {
		t.Errorf("%v, want the writer's error", err)
	}
}

var errDisk = errors.New("disk full")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errDisk }
