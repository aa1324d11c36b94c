package checker

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// restarted is a run in which, by the operations, the server forgot the first hold.
const restarted = `
	c1 acquire 0 1 ok until=2000 token=t1
	c1 use 1 900
	c2 acquire 10 202 ok until=2201 token=t2
	c2 use 202 800`

// violations returns the violations of some operations around a killed server.
func violations(t *testing.T, ops []history.Operation) []Violation {
	t.Helper()
	kill := history.Window{Fault: faultKillServer, Node: 0, Start: 100 * msec, End: 180 * msec, Confirmed: true}
	v := verdictOf(t, Input{Header: history.Header{Kind: history.Mutex, Lease: 2000 * msec}, Faults: []history.Window{kill}}, ops, Options{})
	if len(v.Violations) == 0 {
		t.Fatal("nothing was found")
	}
	v.Violations[0].Story = []string{"the story of c1 & c2"}
	return v.Violations
}

// TestFailingCheckHasItsPicture: the picture of a violation is written exactly if the check fails, with the story, the holds, the faults and the
// violation, and the page loads nothing.
func TestFailingCheckHasItsPicture(t *testing.T) {
	found := violations(t, parse(t, restarted))
	var page bytes.Buffer
	if err := WritePicture(&page, &found[0]); err != nil {
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

// TestEveryRowHasAPicture: every violation in the histories of other tests has a picture, and if two clients held at once Porcupine finds no order of
// the picture's operations.
func TestEveryRowHasAPicture(t *testing.T) {
	pictures := 0
	for _, r := range rows() {
		for _, v := range r.check(t).Violations {
			if v.Property == verdicts.Hygiene {
				continue
			}
			pictures++
			var page bytes.Buffer
			if err := WritePicture(&page, &v); err != nil || page.Len() < 10_000 {
				t.Errorf("%s %s: %v, %d bytes", r.name, v.Property, err, page.Len())
				continue
			}
			p := newPicture(&v)
			legal := porcupine.CheckOperations(leaseModel(p.header, p.acquires, lockState{}), p.ops)
			if v.Property == verdicts.MutualExclusion && legal {
				t.Errorf("%s at %d: the picture of two holders has an order", r.name, v.At)
			}
		}
	}
	if pictures < 30 {
		t.Errorf("%d pictures", pictures)
	}
}

// TestPictureIsCapped: only the surroundings of the violation in a long history are drawn.
func TestPictureIsCapped(t *testing.T) {
	ops := parse(t, restarted)
	for i := range int64(5000) {
		ops = append(ops, history.Operation{
			ID: uint64(1000 + i), Client: fmt.Sprint("n", i%16), Op: history.Acquire, Key: "k", Outcome: history.Busy,
			Call: 203*msec + i*100_000 + i%16, Return: 203*msec + i*100_000 + i%16 + 50_000,
		})
	}
	found := violations(t, ops)
	if n := len(found[0].Around.Operations); n > 2*nearby+4 || n < nearby {
		t.Errorf("%d operations are drawn", n)
	}
	var page bytes.Buffer
	if err := WritePicture(&page, &found[0]); err != nil {
		t.Fatal(err)
	}
	if page.Len() > 300_000 {
		t.Errorf("the page has %d bytes", page.Len())
	}
}

func TestNoPictureOfWhatIsNotKnown(t *testing.T) {
	if err := WritePicture(&bytes.Buffer{}, &Violation{Property: verdicts.Hygiene}); !errors.Is(err, ErrNoPicture) {
		t.Errorf("%v, want ErrNoPicture", err)
	}
	found := violations(t, parse(t, restarted))
	if err := WritePicture(failingWriter{}, &found[0]); !errors.Is(err, errDisk) {
		t.Errorf("%v, want the writer's error", err)
	}
}

var errDisk = errors.New("disk full")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errDisk }
