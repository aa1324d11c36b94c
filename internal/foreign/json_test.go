package foreign

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestUnmarshalSaysWhere(t *testing.T) {
	for _, row := range []struct{ about, data, want string }{
		{"valid", `{"n":1}`, ""},
		{"the first byte", `x`, "line 1, column 1: "},
		{"a later line", "{\n \"n\": x}", "line 2, column 7: "},
		{"of another type", "{\n \"n\": \"x\"}", "line 2, column 9: "},
		{"cut off: at the last byte", "{\n", "line 1, column 2: it is cut off here: "},
		{"empty", "", "line 1, column 1: "},
	} {
		var v struct{ N int }
		err := Unmarshal([]byte(row.data), &v)
		if (err == nil) != (row.want == "") || err != nil && !strings.HasPrefix(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.about, err, row.want)
		}
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		if err != nil && !errors.As(err, &syntax) && !errors.As(err, &kind) {
			t.Errorf("%s: %v does not wrap an error of the decoder", row.about, err)
		}
	}
}
