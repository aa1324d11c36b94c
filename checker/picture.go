package checker

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockbench/lockbench/history"
)

// Surroundings are what lies around a violation in the record of its key, for its picture.
type Surroundings struct {
	Header     history.Header
	Operations []history.Operation // by call; at most pictureReach before the violation and as many from it on, and the holds in force
	Faults     []history.Window
}

// Bounds on a picture.
const (
	pictureReach = 50                     // operations on either side of the violation
	pictureTime  = 200 * time.Millisecond // that the search for the longest orders may take
)

// ErrNoPicture is answered for a violation that does not come from a check of this process, or that concerns no key.
var ErrNoPicture = errors.New("no picture: the violation does not carry what lies around it")

// WritePicture writes an HTML page that shows a violation: its story, and below it Porcupine's view of the operations around it with the
// holds, the uses and the faults as annotations. The page needs no network. An error says that there is no picture, never
// that there is no violation.
func WritePicture(w io.Writer, v *Violation) (err error) {
	if v.Around == nil || len(v.Around.Operations) == 0 {
		return ErrNoPicture
	}
	defer func() { // Porcupine panics when a replay does not agree with its search; that must not cost the verdict
		if p := recover(); p != nil {
			err = fmt.Errorf("picture of a violation of %s: %v", v.Property, p)
		}
	}()
	p := newPicture(v)
	model := leaseModel(p.header, p.acquires, lockState{})
	model.DescribeOperation = func(_, text any) string { return text.(string) }
	model.DescribeState = p.describeState
	_, info := porcupine.CheckOperationsVerbose(model, p.ops, pictureTime)
	info.AddAnnotations(p.notes)
	var page bytes.Buffer
	if err := porcupine.Visualize(model, info, &page); err != nil {
		return fmt.Errorf("picture of a violation of %s: %w", v.Property, err)
	}
	_, err = w.Write(withStory(page.Bytes(), v))
	return err
}

// withStory puts the story and the lanes at the top of a page.
func withStory(page []byte, v *Violation) []byte {
	text := strings.Join(slices.Concat(v.Story, []string{""}, v.Lanes), "\n")
	block := "<pre style=\"font-size: 13px; margin: 1em; white-space: pre-wrap\">" + html.EscapeString(text) + "</pre>"
	return bytes.Replace(page, []byte("<body>"), []byte("<body>"+block), 1)
}

// surroundings picks what the picture shows.
func (t *teller) surroundings() *Surroundings {
	ops := t.s.ops
	at, _ := slices.BinarySearchFunc(ops, t.v.At, func(op history.Operation, at int64) int { return cmp.Compare(op.Call, at) })
	from, to := max(0, at-pictureReach), min(len(ops), at+pictureReach)
	a := &Surroundings{Header: t.s.header, Operations: slices.Clone(ops[from:to])}
	a.Operations = append(a.Operations, t.inForceBefore(from)...)
	slices.SortStableFunc(a.Operations, func(x, y history.Operation) int { return cmp.Compare(x.Call, y.Call) })
	if len(a.Operations) == 0 {
		return a
	}
	first, last := a.Operations[0].Call, a.Operations[0].Return
	for _, op := range a.Operations {
		last = max(last, op.Return)
	}
	for _, w := range t.s.faults {
		if w.Start <= last && w.Last() >= first {
			a.Faults = append(a.Faults, w)
		}
	}
	return a
}

// inForceBefore returns the acquires of holds that were in force when operation number from was called, and came before it.
func (t *teller) inForceBefore(from int) (out []history.Operation) {
	if from >= len(t.s.ops) {
		return nil
	}
	at := t.s.ops[from].Call
	for _, h := range t.s.holds {
		if h.acquire.Call < at && at <= h.end() && !slices.ContainsFunc(t.s.ops[from:], func(op history.Operation) bool { return op.ID == h.acquire.ID }) {
			out = append(out, h.acquire)
		}
	}
	return out
}
