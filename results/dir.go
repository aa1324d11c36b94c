package results

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The files of a run directory. Of violations, latency spectra and drawings there may be any number.
const (
	RunFile        = "run.json"
	ResultFile     = "result.json"
	ScenarioFile   = "scenario.yaml"
	HistoryFile    = "history.jsonl.zst"
	CommandsFile   = "commands.jsonl.zst"
	RecordingFile  = "recording" // instead of the two, while the clients run
	FaultsFile     = "faults.jsonl"
	LatencyLog     = "latency.hlog"
	LatencyFolder  = "latency"
	ViolationsPath = "violations"
	SummaryFile    = "summary.md"
	ReportFile     = "report.html"
	JUnitFile      = "junit.xml"
	LogFile        = "lockbench.log"

	latest = "latest"
)

// DefaultBase is where run directories go, from the working directory.
const DefaultBase = "results/runs"

// Dir is one run directory.
type Dir struct{ path string }

// NewID draws the part of a directory's name that tells two runs of one second apart.
func NewID(r io.Reader) (string, error) {
	var b [3]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return "", fmt.Errorf("run id: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// Create makes base/<scenario>-<lock>-<UTC time>-<id> and points base/latest to it. An error that says the
// directory is there already means that the id was not fresh.
func Create(base, scenario, lock string, at time.Time, id string) (*Dir, error) {
	path, err := makeDir(base, plain(scenario)+"-"+plain(lock), at, id)
	if err != nil {
		return nil, err
	}
	return &Dir{path: path}, nil
}

// CreateSuite makes base/suite-<UTC time>-<id>, where a suite and its runs lie, and points base/latest to it. Two suites never share one.
func CreateSuite(base string, at time.Time, id string) (string, error) {
	return makeDir(base, "suite", at, id)
}

// makeDir makes base/<name>-<UTC time>-<id>, which must not be there, and points base/latest to it.
func makeDir(base, name string, at time.Time, id string) (string, error) {
	name = fmt.Sprintf("%s-%s-%s", name, at.UTC().Format("20060102T150405Z"), plain(id))
	if err := os.MkdirAll(base, 0o755); err != nil {
		return "", fmt.Errorf("run directory: %w", err)
	}
	path := filepath.Join(base, name)
	if err := os.Mkdir(path, 0o755); err != nil {
		return "", fmt.Errorf("run directory: %w", err)
	}
	return path, point(base, name)
}

// plain keeps a name usable as part of a file's name everywhere.
func plain(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, name)
	return strings.TrimLeft(name, ".")
}

// point makes base/latest lead to a run. The link is made beside and renamed, so that it always leads somewhere. Where
// links cannot be had (a file system without them), there is none; where somebody keeps a real file of that name, it stays.
func point(base, name string) error {
	link := filepath.Join(base, latest)
	if info, err := os.Lstat(link); err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return fmt.Errorf("%s is there and is not a link; move it away", link)
	}
	beside := filepath.Join(base, "."+latest+"-"+name)
	if err := os.Symlink(name, beside); err != nil {
		return nil // the link is a convenience; a run is not refused for it
	}
	if err := os.Rename(beside, link); err != nil {
		return errors.Join(fmt.Errorf("link %s: %w", link, err), os.Remove(beside))
	}
	return nil
}

// Open finds an existing run: a run directory, or base directory with a latest run in it, or a file inside a run directory.
func Open(path string) (*Dir, error) {
	for _, try := range []string{path, filepath.Join(path, latest), filepath.Dir(path)} {
		if _, err := os.Stat(filepath.Join(try, RunFile)); err == nil {
			return &Dir{path: try}, nil
		}
	}
	return nil, fmt.Errorf("%s: no run here: a run directory has a %s", path, RunFile)
}

// Path is the directory's path as it was given or made.
func (d *Dir) Path() string { return d.path }

// File is the path of a file in it.
func (d *Dir) File(name ...string) string {
	return filepath.Join(append([]string{d.path}, name...)...)
}

// SaveRun saves run.json.
func (d *Dir) SaveRun(r Run) error {
	r.Schema, r.Argv = RunSchema, Redact(r.Argv)
	if err := r.validate(); err != nil {
		return fmt.Errorf("save %s: %w", RunFile, err)
	}
	return d.saveJSON(RunFile, r)
}

// SaveResult saves result.json.
func (d *Dir) SaveResult(r Result) error { return d.saveJSON(ResultFile, r) }

func (d *Dir) saveJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	return d.Save(name, append(data, '\n'))
}

// Save puts a file into the directory whole: it is either the old one or the new one, whenever the process is killed. Folders are
// made as needed.
func (d *Dir) Save(name string, data []byte) error {
	return d.SaveFunc(name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// SaveFunc is Save for what is written piece by piece.
func (d *Dir) SaveFunc(name string, write func(io.Writer) error) error {
	if err := replace(d.File(name), write); err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	return nil
}

// Begin puts a file into the directory that has its head from the first instant on, and opens it for what is to be added. Each Write adds to
// what can be read when the process is killed.
func (d *Dir) Begin(name string, head []byte) (*os.File, error) {
	if err := d.Save(name, head); err != nil {
		return nil, err
	}
	return os.OpenFile(d.File(name), os.O_WRONLY|os.O_APPEND, 0)
}

func replace(path string, write func(io.Writer) error) (err error) {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncFolder(folder)
}

// syncFolder makes a rename last through a power cut.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
