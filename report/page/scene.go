package page

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/verdicts"
)

// Scene is one violation as a page shows it: its story, and the picture of the time around it.
type Scene struct {
	Lock     string            `json:"lock"`
	Scenario string            `json:"scenario"`
	Property verdicts.Property `json:"property"`
	Cause    verdicts.Cause    `json:"cause"`
	At       int64             `json:"at"` // nanoseconds into the run
	Key      string            `json:"key"`
	Story    []string          `json:"story"`
	Lanes    *lanes            `json:"lanes"` // nil: there is nothing to draw
}

// most is how many commands a scene has, the nearest to the violation.
const most = 200

// NewScene returns the scene of a violation of a run, from what its story was told from and the
// commands of the run. Names in it are safe to show.
func NewScene(v *checker.Violation, lock, scenario string, commands []history.Command) Scene {
	s := Scene{Lock: lock, Scenario: scenario, Property: v.Property, Cause: v.Cause, At: v.At, Key: v.Key, Story: v.Story}
	if v.Around == nil {
		return report.Clean(s)
	}
	w := newWindow(v.Key, []int64{v.At})
	for i := range v.Around.Operations {
		w.take(&v.Around.Operations[i])
	}
	g := &digest{header: v.Around.Header, window: w, faults: v.Around.Faults, drawn: w.finish()}
	from, to := w.span()
	for i := range commands {
		if c := &commands[i]; c.Sent <= to && max(c.Replied, c.Sent) >= from {
			g.commands = append(g.commands, *c)
		}
	}
	distance := func(c history.Command) int64 { return max(v.At-max(c.Replied, c.Sent), c.Sent-v.At, 0) }
	slices.SortStableFunc(g.commands, func(a, b history.Command) int { return cmp.Compare(distance(a), distance(b)) })
	g.commands = g.commands[:min(len(g.commands), most)]
	slices.SortStableFunc(g.commands, func(a, b history.Command) int { return cmp.Compare(a.Sent, b.Sent) })
	s.Lanes = newLanes(g, v.Around.Holds, []*checker.Violation{v})
	return report.Clean(s)
}

// Violation writes the page of one violation. again is the command that repeats its run, and back
// the path to that run's page.
func Violation(w io.Writer, s Scene, again, back string) error {
	view := struct {
		Scene
		Again, Back string
	}{s, report.Clean(again), back}
	return write(w, fmt.Sprintf("%s broken: %s × %s", s.Property, s.Lock, s.Scenario), "violation", view, data{Lanes: s.Lanes})
}

// WriteScenes writes scenes, one a line, compressed.
func WriteScenes[T any](w io.Writer, all []T) error {
	z, err := zstd.NewWriter(w)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(z)
	for _, s := range all {
		if err := lines.Encode(s); err != nil {
			return errors.Join(err, z.Close())
		}
	}
	return z.Close()
}

// readScenes reads what WriteScenes wrote, by [sceneID]. A file that is not there has none.
func readScenes(path string) (map[string]json.RawMessage, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderMaxMemory(1<<28))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	out := map[string]json.RawMessage{}
	for lines := json.NewDecoder(z); ; {
		var raw json.RawMessage
		var s struct{ Lock, Scenario string }
		if err := lines.Decode(&raw); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out[sceneID(s.Lock, s.Scenario)] = raw
	}
}

// JoinScenes writes the scenes of several files as one. A file that is not there has none.
func JoinScenes(w io.Writer, paths []string) error {
	var all []json.RawMessage
	for _, path := range paths {
		scenes, err := readScenes(path)
		if err != nil {
			return err
		}
		for _, id := range slices.Sorted(maps.Keys(scenes)) {
			all = append(all, scenes[id])
		}
	}
	return WriteScenes(w, all)
}

// sceneID names a cell in links and in the data of a page.
func sceneID(lock, scenario string) string { return lock + "/" + scenario }
