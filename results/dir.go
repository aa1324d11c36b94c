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
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/foreign"
)

// The files of a run directory. ViolationsPath and LatencyFolder are folders.
const (
	RunFile        = "run.json"
	ResultFile     = "result.json"
	ScenarioFile   = "scenario.yaml"
	HistoryFile    = "history.jsonl.zst"
	CommandsFile   = "commands.jsonl.zst"
	ServerFile     = "server.jsonl.zst" // what each node executed, of a run in which a property broke
	RecordingFile  = "recording"        // replaces history and commands while the clients run
	FaultsFile     = "faults.jsonl"
	LatencyLog     = "latency.hlog"
	LatencyFolder  = "latency"
	ViolationsPath = "violations"
	TapePath       = "violations/001.tape"  // of a search
	ScenesFile     = "violations.jsonl.zst" // of a suite: one violation of each cell that broke
	SummaryFile    = "summary.md"
	ReportFile     = "report.html"
	JUnitFile      = "junit.xml"
	LogFile        = "lockbench.log"

	latest = "latest"
)

// DefaultBase is the default parent of run directories, relative to the working directory.
const DefaultBase = "results/runs"

// Dir is one run directory.
type Dir struct{ path string }

// NewID returns a random suffix that distinguishes the directories of two runs of the same second.
func NewID(r io.Reader) (string, error) {
	var b [3]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return "", fmt.Errorf("run id: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// Name names the directory of what was done: <scenario>-<lock>-<UTC time>-<id> of a run,
// <kind>-<UTC time>-<id> of a suite or a bench.
func Name(at time.Time, id string, of ...string) string {
	name := ""
	for _, word := range of {
		name += plain(word) + "-"
	}
	return name + at.UTC().Format("20060102T150405Z") + "-" + plain(id)
}

// Create creates a directory in base, which must not have it, and links base/latest to it, unless
// it stands aside.
func Create(base, name string, aside bool) (*Dir, error) {
	if err := os.MkdirAll(base, 0o755); err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	d := &Dir{path: filepath.Join(base, name)}
	if err := os.Mkdir(d.path, 0o755); err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	if aside {
		return d, nil
	}
	link := filepath.Join(base, latest)
	if info, err := os.Lstat(link); err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return d, fmt.Errorf("%s exists and is not a link; move it away", link)
	}
	beside := filepath.Join(base, "."+latest+"-"+name)
	if err := os.Symlink(name, beside); err != nil {
		return d, nil // the file system has no links, and this one is a convenience
	}
	if err := os.Rename(beside, link); err != nil {
		return d, errors.Join(fmt.Errorf("link %s: %w", link, err), os.Remove(beside))
	}
	return d, nil
}

// plain replaces characters that are not safe in file names.
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

// Open finds an existing run: a run directory, a base directory with a latest run, or a file inside
// a run directory.
func Open(path string) (*Dir, error) {
	for _, try := range []string{path, filepath.Join(path, latest), filepath.Dir(path)} {
		if _, err := os.Stat(filepath.Join(try, RunFile)); err == nil {
			return &Dir{path: try}, nil
		}
	}
	return nil, fmt.Errorf("%s: no run here: a run directory has a %s", path, RunFile)
}

// Path returns the directory's path.
func (d *Dir) Path() string { return d.path }

// File returns the path of a file in it.
func (d *Dir) File(name ...string) string {
	return filepath.Join(append([]string{d.path}, name...)...)
}

// SaveRun saves run.json.
func (d *Dir) SaveRun(r Run) error {
	r.Schema, r.Argv = RunSchema, redact(r.Argv)
	if err := r.validate(); err != nil {
		return fmt.Errorf("save %s: %w", RunFile, err)
	}
	return saveJSON(d.File(RunFile), r)
}

// SaveResult saves result.json.
func (d *Dir) SaveResult(r Result) error { return saveJSON(d.File(ResultFile), r) }

// SaveRecord saves what clients and servers did, the files side by side. Without effects, which were
// not recorded, there is no file of the servers.
func (d *Dir) SaveRecord(rec history.Recorded, windows []history.Window, source string, effects []history.Executed) error {
	var files errgroup.Group
	save := func(name string, write func(io.Writer) error) {
		files.Go(func() error { return d.SaveFunc(name, write) })
	}
	save(HistoryFile, func(w io.Writer) error { return history.WriteHistory(w, rec.Header, rec.Ops) })
	save(CommandsFile, func(w io.Writer) error { return history.WriteCommands(w, rec.Commands, rec.Scripts) })
	save(FaultsFile, func(w io.Writer) error { return history.WriteWindows(w, windows) })
	if effects != nil {
		save(ServerFile, func(w io.Writer) error { return history.WriteServer(w, source, effects) })
	}
	return files.Wait()
}

// Save replaces a file in the directory atomically. It creates folders as needed.
func (d *Dir) Save(name string, data []byte) error {
	return d.SaveFunc(name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// SaveFunc is Save with the data that write writes.
func (d *Dir) SaveFunc(name string, write func(io.Writer) error) error {
	return SaveFile(d.File(name), write)
}

// SaveFile replaces a file atomically with the data that write writes. It creates folders as
// needed, follows links, and writes into what is no regular file, such as a device or a named pipe.
func SaveFile(path string, write func(io.Writer) error) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().IsRegular() || info.IsDir() {
		err = replace(path, write)
	} else {
		var f *os.File
		if f, err = os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			err = errors.Join(write(f), f.Close())
		}
	}
	var at *fs.PathError
	switch {
	case errors.As(err, &at): // of a temporary file
		return &fs.PathError{Op: "save", Path: path, Err: at.Err}
	case err != nil:
		return fmt.Errorf("save %s: %w", path, err)
	}
	return nil
}

func saveJSON(path string, v any) error {
	return SaveFile(path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", " ")
		return enc.Encode(v)
	})
}

// Begin saves a file that has only its head, and opens it for appending.
func (d *Dir) Begin(name string, head []byte) (*os.File, error) {
	if err := d.Save(name, head); err != nil {
		return nil, err
	}
	return os.OpenFile(d.File(name), os.O_WRONLY|os.O_APPEND, 0)
}

// replace replaces a file, or the one that links lead to, which may not be there yet.
func replace(path string, write func(io.Writer) error) (err error) {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	} else if to, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
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
	d, err := os.Open(folder) // its sync makes the rename durable
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Load reads run.json and result.json. The result is nil if the run was not checked.
func (d *Dir) Load() (Run, *Result, error) {
	run, err := d.LoadRun()
	if err != nil {
		return run, nil, err
	}
	var r Result
	err = loadJSON(d.File(ResultFile), &r)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return run, nil, nil
	case err == nil && r.Schema != ResultSchema:
		err = fmt.Errorf("%s: schema is %q, want %q", d.File(ResultFile), r.Schema, ResultSchema)
	}
	return run, &r, err
}

// LoadRun reads run.json.
func (d *Dir) LoadRun() (Run, error) {
	var r Run
	if err := loadJSON(d.File(RunFile), &r); err != nil {
		return Run{}, err
	}
	if err := r.validate(); err != nil {
		return Run{}, fmt.Errorf("%s: %w", d.File(RunFile), err)
	}
	return r, nil
}

// LoadWindows reads the fault windows of a run, with what each kind of fault does; see
// [faults.Describe].
func (d *Dir) LoadWindows() ([]history.Window, error) {
	windows, err := history.LoadWindows(d.File(FaultsFile))
	faults.Describe(windows)
	return windows, err
}

func loadJSON(path string, v any) error {
	data, err := foreign.Read(path, foreign.MaxDocument)
	if err != nil {
		return err
	}
	if err := foreign.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// loadStored reads a file whose schema must be want. Errors that do not come from the file system
// wrap notStored.
func loadStored(path string, v any, schema *string, want string, notStored error) error {
	err := loadJSON(path, v)
	var io *fs.PathError
	switch {
	case errors.As(err, &io):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", notStored, err)
	case *schema != want:
		return fmt.Errorf("%s: %w: its schema is %q, want %s", path, notStored, *schema, want)
	}
	return nil
}

// Hold marks the directory as in use until the closer is closed or this process has ended, however
// it ends. Where the file system has no locks the mark is lost, and the directory is as one that
// nobody uses.
func (d *Dir) Hold() (io.Closer, error) {
	f, err := os.Open(d.path) // no child process inherits it
	if err == nil {
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	return f, err
}

// Held reports whether a process that lives holds a directory.
func Held(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close() // ends the lock as well
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
