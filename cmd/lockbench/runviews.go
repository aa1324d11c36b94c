package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/story/visual"
)

// saveViews writes the reports into the run directory. A run that failed before it was judged has none.
func saveViews(out *harness.Outcome) error {
	if out.Dir == "" || out.Verdict == nil {
		return nil
	}
	d, err := results.Open(out.Dir)
	if err != nil {
		return err
	}
	for i, v := range out.Verdict.Violations {
		name := fmt.Sprintf("%s/%03d.txt", results.ViolationsPath, i+1)
		err = errors.Join(err, d.SaveFunc(name, func(w io.Writer) error { return report.Violation(w, v) }))
	}
	return errors.Join(err, runRecord(out.Dir, out.Run, &out.Result).save())
}

// pictures is how many of a run's violations are drawn as pages; every one is written as text.
const pictures = 5

// savePictures draws the first violations. A picture that fails is noted, and changes no verdict.
func (a *app) savePictures(out *harness.Outcome) {
	if out.Dir == "" {
		return
	}
	d, err := results.Open(out.Dir)
	for i := 0; err == nil && i < min(pictures, len(out.Verdict.Violations)); i++ {
		v := &out.Verdict.Violations[i]
		err = d.SaveFunc(fmt.Sprintf("%s/%03d.html", results.ViolationsPath, i+1), func(w io.Writer) error { return visual.Write(w, v) })
		if errors.Is(err, visual.ErrNone) {
			err = nil
		}
	}
	if err != nil {
		a.say("pictures of the violations: %v", err)
	}
}

func (a *app) keptNote(dir string) {
	if dir != "" {
		a.say("what was recorded is kept in %s", dir)
	}
}
