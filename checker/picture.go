package checker

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// pictureTime bounds the search for the longest orders.
const pictureTime = 200 * time.Millisecond

// ErrNoPicture: a violation does not come from a check of this process, or concerns no key.
var ErrNoPicture = errors.New("no picture: the violation does not carry what lies around it")

// WritePicture writes an HTML page that shows a violation: its story, and below it Porcupine's view of the operations around it with the holds, the
// uses and the faults as annotations. The page needs no network. An error means that there is no picture, never that there is no violation.
func WritePicture(w io.Writer, v *Violation) (err error) {
	if v.Around == nil || len(v.Around.Operations) == 0 {
		return ErrNoPicture
	}
	defer func() { // Porcupine panics if a replay disagrees with its search; that must not cost the verdict
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
