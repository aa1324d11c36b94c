// Package visual draws a violation as an HTML page: its story, and Porcupine's view of the operations around it.
package visual

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

	"github.com/lockbench/lockbench/checker"
)

// pictureTime bounds Porcupine's search.
const pictureTime = 200 * time.Millisecond

// ErrNone: the violation has no surroundings, because this process did not check the history or the violation concerns no key.
var ErrNone = errors.New("no picture: the violation has no operations around it")

// Write writes an HTML page that shows a violation: its story, and below it Porcupine's view of the operations around it, with the holds, the uses and the
// faults as annotations. The page needs no network.
func Write(w io.Writer, v *checker.Violation) (err error) {
	if v.Around == nil || len(v.Around.Operations) == 0 {
		return ErrNone
	}
	defer func() { // Porcupine panics if a replay disagrees with its search; that must not cost the verdict
		if p := recover(); p != nil {
			err = fmt.Errorf("picture of a violation of %s: %v", v.Property, p)
		}
	}()
	p := newPicture(v)
	model := p.model()
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
func withStory(page []byte, v *checker.Violation) []byte {
	text := strings.Join(slices.Concat(v.Story, []string{""}, v.Lanes), "\n")
	block := "<pre style=\"font-size: 13px; margin: 1em; white-space: pre-wrap\">" + html.EscapeString(text) + "</pre>"
	return bytes.Replace(page, []byte("<body>"), []byte("<body>"+block), 1)
}
