// Package foreign handles what lockbench did not make: files, text and words that somebody else
// wrote.
//
// A named pipe or a device, which could block its reader or never end, is refused at once, and so
// is a file that is too large to be read whole; errors are a *fs.PathError, and those of JSON say
// the position. Names of clients, keys and tokens from files and servers, and output of other
// processes, are escaped before reports, stories, logs and messages show them. For an unknown word
// it finds the known one that a person probably meant.
package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Open opens a regular file for reading.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path) // before the open, which waits at a named pipe
	var at *fs.PathError
	if errors.As(err, &at) {
		at.Op = "open"
	}
	if err != nil {
		return nil, err
	}
	kind := "a socket"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return os.Open(path)
	case mode.IsDir():
		kind = "a directory"
	case mode&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case mode&fs.ModeDevice != 0:
		kind = "a device"
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("want a regular file, got %s", kind)}
}

// MaxDocument is the limit, in bytes, of a file of JSON that is decoded whole: the decoded values
// take up to forty times as much.
const MaxDocument = 16 << 20

// Read reads a regular file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1)) // a file of /proc has more than its size
	if err == nil && int64(len(data)) > limit {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("larger than %d bytes", limit)}
	}
	return data, err
}

// Unmarshal decodes data into v. Its errors wrap those of [json.Unmarshal] and begin with line and
// column, from 1, if the decoder reports a position.
func Unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var at int64
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		at = kind.Offset
	default:
		return err
	}
	line, column := 1, 1
	for _, b := range data[:max(int(at)-1, 0)] { // the offset is after the error
		if column++; b == '\n' {
			line, column = line+1, 1
		}
	}
	if errors.Is(json.NewDecoder(bytes.NewReader(data)).Decode(&json.RawMessage{}), io.ErrUnexpectedEOF) {
		return fmt.Errorf("line %d, column %d: it is cut off here: %w", line, column, err)
	}
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}
