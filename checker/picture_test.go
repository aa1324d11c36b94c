package checker

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/lockbench/lockbench/history"
)

// checked returns the violations that a check of a corpus history finds.
func checked(t *testing.T, name string) []Violation {
	t.Helper()
	c := loadCase(t, filepath.Join(corpusDir, name))
	return checkedCase(t, c)
}

func checkedCase(t *testing.T, c corpusCase) []Violation {
	t.Helper()
	in := Input{Header: c.header, Ops: &sliceSource{slices.Clone(c.ops)}, Commands: c.commands, Faults: c.faults}
	verdict, err := Check(t.Context(), in, Options{})
	check(t, err)
	return verdict.Violations
}

// TestFailingCheckHasItsPicture: the picture of what a check found is written exactly when it fails, with the story, the holds, the
// faults and the violation, and it loads nothing from anywhere.
func TestFailingCheckHasItsPicture(t *testing.T) {
	violations := checked(t, "restart-loss/token-kill")
	if len(violations) == 0 {
		t.Fatal("nothing was found")
	}
	var page bytes.Buffer
	check(t, WritePicture(&page, &violations[0]))
	for _, want := range []string{
		"c1 was granted &#34;job&#34; at 0 ms", "restart-loss", `"Tag":"c1 holds"`, `"Tag":"c2 holds"`, `"Tag":"kill-server n0"`,
		`"Tag":"violation"`, `"Description":"c2 acquire → granted"`, "render(data)",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, url := range regexp.MustCompile(`(https?:)?//[a-z0-9.]+\.[a-z]+[^'"]*`).FindAllString(page.String(), -1) {
		if url != "http://www.w3.org/2000/svg" { // the name of SVG, which nobody fetches
			t.Errorf("the page names %s", url)
		}
	}
	if tags := regexp.MustCompile(`(?i)<(script|link|img|iframe)[^>]*(src|href)=`).FindAllString(page.String(), -1); len(tags) > 0 {
		t.Errorf("the page loads %v", tags)
	}
}

// TestEveryViolationOfTheCorpusHasAPicture, and where two held at once Porcupine finds no order of what it is given.
func TestEveryViolationOfTheCorpusHasAPicture(t *testing.T) {
	for _, c := range loadCorpus(t) {
		for _, v := range checkedCase(t, c) {
			var page bytes.Buffer
			if err := WritePicture(&page, &v); err != nil || page.Len() < 10_000 {
				t.Errorf("%s %s: %v, %d bytes", c.name, v.Property, err, page.Len())
				continue
			}
			p := newPicture(&v)
			legal := porcupine.CheckOperations(leaseModel(p.header, p.acquires, lockState{}), p.ops)
			if v.Property == history.MutualExclusion && legal {
				t.Errorf("%s at %d: the picture of two holders has an order", c.name, v.At)
			}
		}
	}
}

// TestPictureIsCapped: of a long history only what lies around the violation is drawn.
func TestPictureIsCapped(t *testing.T) {
	c := loadCase(t, filepath.Join(corpusDir, "restart-loss/token-kill"))
	for i := range int64(5000) {
		c.ops = append(c.ops, history.Operation{
			ID: uint64(1000 + i), Client: fmt.Sprint("n", i%16), Op: history.Acquire, Key: "job", Outcome: history.Busy,
			Call: 203*milli + i*100_000 + i%16, Return: 203*milli + i*100_000 + i%16 + 50_000,
		})
	}
	violations := checkedCase(t, c)
	if len(violations) == 0 {
		t.Fatal("nothing was found")
	}
	if n := len(violations[0].Around.Operations); n > 2*pictureReach+4 || n < pictureReach {
		t.Errorf("%d operations are drawn", n)
	}
	var page bytes.Buffer
	check(t, WritePicture(&page, &violations[0]))
	if page.Len() > 300_000 {
		t.Errorf("the page has %d bytes", page.Len())
	}
}

func TestNoPictureOfWhatIsNotKnown(t *testing.T) {
	if err := WritePicture(&bytes.Buffer{}, &Violation{Property: history.Hygiene}); !errors.Is(err, ErrNoPicture) {
		t.Errorf("%v, want ErrNoPicture", err)
	}
	violations := checked(t, "restart-loss/token-kill")
	if err := WritePicture(failingWriter{}, &violations[0]); !errors.Is(err, errDisk) {
		t.Errorf("%v, want the writer's error", err)
	}
}

var errDisk = errors.New("disk full")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errDisk }
