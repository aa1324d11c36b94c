package history

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// AppendOperation appends the operation as one line, newline included. It omits optional fields
// that are zero.
func AppendOperation(b []byte, op *Operation) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendUint(b, op.ID, 10)
	b = appendText(b, `,"client":`, op.Client)
	b = appendText(b, `,"op":`, op.Op.String())
	b = appendText(b, `,"key":`, op.Key)
	if op.Mode == Shared || op.Op == Acquire || op.ModeNamed {
		b = appendText(b, `,"mode":`, op.Mode.String())
	}
	b = appendInt(b, `,"call":`, op.Call)
	b = appendInt(b, `,"return":`, op.Return)
	if op.WasAsked() {
		b = appendInt(b, `,"asked":`, op.Asked)
	}
	if op.Outcome != None {
		b = appendText(b, `,"outcome":`, op.Outcome.String())
	}
	if op.Token != "" {
		b = appendText(b, `,"token":`, op.Token)
	}
	if op.ValidUntil != 0 {
		b = appendInt(b, `,"valid_until":`, op.ValidUntil)
	}
	if op.Fence != 0 {
		b = strconv.AppendUint(append(b, `,"fence":`...), op.Fence, 10)
	}
	if op.HasValue {
		b = appendInt(b, `,"read":`, op.Read)
		b = appendInt(b, `,"wrote":`, op.Wrote)
	}
	if op.Versioned {
		b = strconv.AppendUint(append(b, `,"read_version":`...), op.ReadVersion, 10)
	}
	if op.Version != 0 {
		b = strconv.AppendUint(append(b, `,"version":`...), op.Version, 10)
	}
	if op.Err != "" {
		b = appendText(b, `,"err":`, op.Err)
	}
	return append(b, '}', '\n')
}

// appendHeader appends the header line of a history file, newline included.
func appendHeader(b []byte, h Header) []byte {
	return appendTagged(b, &struct {
		Schema string `json:"schema"`
		Header
	}{operationsSchema, h})
}

// AppendWindow appends the fault window as one line of the faults schema, newline included.
func AppendWindow(b []byte, w *Window) []byte { return appendTagged(b, w) }

func appendInt(b []byte, field string, n int64) []byte {
	return strconv.AppendInt(append(b, field...), n, 10)
}

// appendText appends a field with a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendText(b []byte, field, s string) []byte {
	b = append(append(b, field...), '"')
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return append(appendEscaped(append(b, s[:i]...), s[i:]), '"')
		}
	}
	return append(append(b, s...), '"')
}

func appendEscaped(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	for _, r := range s { // range yields U+FFFD for each bad byte
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return b
}

// appendTagged appends a struct as one line of JSON by its tags, newline included.
func appendTagged(b []byte, v any) []byte {
	to := bytes.NewBuffer(b)
	out := json.NewEncoder(to)
	out.SetEscapeHTML(false)
	_ = out.Encode(v) // it has texts and finite numbers only
	return to.Bytes()
}

func sidecarHeader(schema string) []byte {
	return append(appendText(nil, `{"schema":`, schema), '}', '\n')
}
