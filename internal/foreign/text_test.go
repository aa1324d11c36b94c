package foreign

import (
	"encoding/json"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"job-1 Schlüssel 锁", "job-1 Schlüssel 锁"},         // letters of any script
		{"a\nb\tc\r", "a b c "},                            // one line
		{"\x1b[2J", `\x1b[2J`},                             // an escape sequence
		{"\u009b2J", `\u009b2J`},                           // the same in one character
		{"user\u202egnp", `user\u202egnp`},                 // text that runs backwards
		{"\xff\xfe", `\xff\xfe`},                           // not UTF-8
		{"\ufffd", `\ufffd`},                               // the replacement character
		{"\U000e0041", `\U000e0041`},                       // a tag, which nothing shows
		{"no\u00a0break", `no\u00a0break`},                 // a space that cannot break
		{`<b>&amp;"quoted" \x1b`, `<b>&amp;"quoted" \x1b`}, // HTML and JSON have writers of their own
		{"a ::error::b", `a \x3a:error::b`},                // a command for GitHub's runner
		{"\n::add-mask::b", ` \x3a:add-mask::b`},
		{"##[error]b", `\x23#[error]b`},
		{"####[####]", "####[####]"}, // a drawing of holds
		{"[::1]:6379 std::string a::b", "[::1]:6379 std::string a::b"},
		{"", ""},
	} {
		if got := Text(row.text); got != row.want {
			t.Errorf("Text(%q) = %q, want %q", row.text, got, row.want)
		}
	}
}

func TestLines(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"a\n\tb\x1b[2J\n", "a\n b\\x1b[2J\n"},
		{"\n::error::b\r\nc", "\n\\x3a:error::b\nc"},
		{"", ""},
	} {
		if got := Lines(row.text); got != row.want {
			t.Errorf("Lines(%q) = %q, want %q", row.text, got, row.want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b[2J\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := Text(text)
		for _, r := range got {
			if r != ' ' && !unicode.IsPrint(r) {
				t.Errorf("%q: %U is left", text, r)
			}
		}
		checkJSON(t, text)
		if !utf8.ValidString(got) || Text(got) != got {
			t.Errorf("%q becomes %q, and that %q", text, got, Text(got))
		}
	})
}

// checkJSON encodes a text, and requires the escaped JSON to be printable and to have the same
// value.
func checkJSON(t *testing.T, text string) {
	t.Helper()
	data, err := json.MarshalIndent([]string{text}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var before, after []string
	shown := JSON(data)
	if json.Unmarshal(data, &before) != nil || json.Unmarshal(shown, &after) != nil || before[0] != after[0] {
		t.Errorf("%q becomes %s, which is %q", text, shown, after)
	}
	for _, r := range string(shown) {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("%U is left in %q", r, shown)
		}
	}
}

func TestJSON(t *testing.T) {
	for _, text := range []string{"plain", "\u009b2J", "\u202e", "\U000e0041", "a\nb\x7f"} {
		checkJSON(t, text)
	}
}
