package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/lockbench/lockbench/internal/jsonat"
)

// Load reads a run; see Open for path. The result is nil if the run was not checked.
func Load(path string) (*Dir, Run, *Result, error) {
	d, err := Open(path)
	if err != nil {
		return nil, Run{}, nil, err
	}
	run, err := d.LoadRun()
	if err != nil {
		return nil, Run{}, nil, err
	}
	result, err := d.LoadResult()
	if errors.Is(err, fs.ErrNotExist) {
		return d, run, nil, nil
	}
	return d, run, result, err
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

// LoadResult reads result.json. The error is fs.ErrNotExist if the run was not checked.
func (d *Dir) LoadResult() (*Result, error) {
	var r Result
	if err := loadJSON(d.File(ResultFile), &r); err != nil {
		return nil, err
	}
	if r.Schema != ResultSchema {
		return nil, fmt.Errorf("%s: schema is %q, want %q", d.File(ResultFile), r.Schema, ResultSchema)
	}
	return &r, nil
}

func loadJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := jsonat.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// loadStored reads a file whose schema must be want. Errors that do not come from the file system wrap notStored.
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
