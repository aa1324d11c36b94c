package page

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/foreign"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
)

// digest has what a page needs of a record. Its size does not grow with the record.
type digest struct {
	header    history.Header
	total     int64
	last      int64 // the latest return
	time      *timeline
	window    *window
	drawn     []history.Operation // of the window, by call
	granted   int64
	commands  []history.Command // in the window
	byCommand map[string]*commandCount
	requests  int64 // to the lock's servers
	faults    []history.Window
	spectra   map[string]*hdr.Histogram // of the latency log, by tag
	cut       bool                      // the end of the history is missing
}

// commandCount is how often one command was sent.
type commandCount struct {
	name  string
	count int64
	trips *hdr.Histogram // nanoseconds
}

// scan reads the record of a run once: most of what is drawn lies near the violations of one key,
// the first violation's. It skips missing files, because a run may have been killed at any time.
func scan(d *results.Dir, result *results.Result) (*digest, error) {
	out := &digest{time: &timeline{width: 1 << 20, buckets: map[int64]*bucket{}}, byCommand: map[string]*commandCount{}}
	var err error
	if out.faults, err = d.LoadWindows(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	key, at := "", []int64{}
	for _, v := range report.Firsts(result) {
		if key = cmp.Or(key, v.Key); v.Key == key {
			at = append(at, v.At)
		}
	}
	first := slices.IndexFunc(out.faults, func(f history.Window) bool { return f.Confirmed && f.Start > 0 })
	if len(at) == 0 && first >= 0 { // a run without violations
		at = []int64{out.faults[first].Start}
	}
	out.window = newWindow(key, at)
	if err := out.read(d); err != nil {
		return nil, err
	}
	out.time.widen()
	out.drawn = out.window.finish()
	if f, err := foreign.Open(d.File(results.CommandsFile)); err == nil {
		err = errors.Join(history.ReadCommands(f, func(c history.Command) { out.command(&c) }), f.Close())
		if err != nil {
			return nil, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	out.spectra, err = loadSpectra(d.File(results.LatencyLog))
	return out, err
}

// read reads every operation from the history, or from the recording if the run was killed.
func (g *digest) read(d *results.Dir) error {
	if _, err := os.Stat(d.File(results.RecordingFile)); err == nil {
		r, err := history.LoadRecording(d.File(results.RecordingFile))
		if err != nil {
			return err
		}
		g.header, g.cut = r.Header, true
		for i := range r.Ops {
			g.take(&r.Ops[i])
		}
		for i := range r.Commands {
			g.command(&r.Commands[i])
		}
		return nil
	}
	r, err := history.Open(d.File(results.HistoryFile))
	if errors.Is(err, fs.ErrNotExist) {
		g.cut = true
		return nil
	}
	if err != nil {
		return err
	}
	r.Salvage()
	g.header = r.Header()
	var op history.Operation
	for err = r.Next(&op); err == nil; err = r.Next(&op) {
		g.take(&op)
	}
	if g.cut = r.Truncated(); errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, r.Close())
}

func (g *digest) take(op *history.Operation) {
	g.total++
	g.last = max(g.last, op.Return)
	g.time.take(op)
	g.window.take(op)
	if op.Op == history.Acquire && op.Outcome == history.OK {
		g.granted++
	}
}

func (g *digest) command(c *history.Command) {
	name := c.Name
	if c.Node < 0 {
		name = "store: " + name
	} else {
		g.requests++
	}
	if len(c.Args) > 0 && c.IsScript() {
		name += " " + c.Args[0]
	}
	n := g.byCommand[name]
	if n == nil {
		if len(g.byCommand) >= 200 { // a foreign record may have many names
			return
		}
		n = &commandCount{name: name, trips: hdr.New(latency.Lowest, latency.Highest, 2)}
		g.byCommand[name] = n
	}
	n.count++
	if c.Replied > c.Sent {
		_ = n.trips.RecordValue(min(c.Replied-c.Sent, latency.Highest)) // in range
	}
	if from, to := g.window.span(); c.Sent <= to && max(c.Replied, c.Sent) >= from && len(g.commands) < maxCommands {
		g.commands = append(g.commands, *c)
	}
}

// loadSpectra reads the histograms of a latency log by their tags.
func loadSpectra(path string) (map[string]*hdr.Histogram, error) {
	text, err := foreign.Read(path, maxLatencyLog)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string]*hdr.Histogram{}
	reader := hdr.NewHistogramLogReader(bytes.NewReader(text))
	for {
		h, err := reader.NextIntervalHistogram()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if h == nil {
			return out, nil
		}
		if out[h.Tag()] = joinHistograms(out[h.Tag()], h); len(out) > maxSpectra {
			return nil, fmt.Errorf("%s: more than %d histograms", path, maxSpectra)
		}
	}
}

// Limits of a log of latencies: ours have some tens of histograms, of a few kilobytes each, which
// take half a megabyte in memory.
const (
	maxLatencyLog = 4 << 20
	maxSpectra    = 200
)
