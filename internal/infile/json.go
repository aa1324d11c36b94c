package infile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

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
