package history

import (
	"errors"
	"fmt"
)

// ErrTruncated is matched by the error for a file that ends in the middle of a compressed frame or of its last line, as
// that of a process that was killed while it wrote may. See [Reader.Salvage].
var ErrTruncated = errors.New("truncated")

// SyntaxError is a line of a history, command or fault file that does not say what the schema asks for. Line and Col
// count from 1 in the uncompressed text; Col 0 means the line as a whole, Line 0 the file as a whole.
type SyntaxError struct {
	File string // "" when the text did not come from a named file
	Line int
	Col  int
	Msg  string // what was expected and what was found
	Err  error  // ErrTruncated, the error of the reader or decompressor, or nil
}

// Error is file:line:col: message, without the parts that are not known.
func (e *SyntaxError) Error() string {
	at := e.File
	if at == "" {
		at = "history"
	}
	if e.Line > 0 {
		at += fmt.Sprintf(":%d", e.Line)
	}
	if e.Line > 0 && e.Col > 0 {
		at += fmt.Sprintf(":%d", e.Col)
	}
	return at + ": " + e.Msg
}

// Unwrap returns Err.
func (e *SyntaxError) Unwrap() error { return e.Err }
