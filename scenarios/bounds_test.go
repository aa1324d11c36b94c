package scenarios

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/impls"
)

func TestFilesOutOfBounds(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"a sequence in a sequence, 200,000 deep", "faults: " + strings.Repeat("[", 200_000), "f.yaml:1:73: nested more than 64 deep"},
		{"mappings likewise", "faults: " + strings.Repeat("{a: ", 10_000), "nested more than 64 deep"},
		{"over several lines", strings.Repeat("[\n", 100), "f.yaml:65:1: nested more than 64 deep"},
		{"dashes in a line", strings.Repeat("- ", 1000) + "x", "f.yaml:1:129: nested more than 64 deep"},
		{"complex keys", strings.Repeat("? ", 1000) + "x", "nested more than 64 deep"},
		{"after a text in quotation marks", "about: \"é [\"\nfaults: [\"é\", " + strings.Repeat("[", 70), "f.yaml:2:78: nested more than 64 deep"},
		{"behind an apostrophe", "a: [x 'b, " + strings.Repeat("[", 70) + "']", "nested more than 64 deep"},
		{"behind a key that is not apart", "a: [x:'b, " + strings.Repeat("[", 70) + "']", "nested more than 64 deep"},
		{"behind a dash in a list", "a: [x - 'b, " + strings.Repeat("[", 70) + "']", "nested more than 64 deep"},
		{"behind a quotation of two lines", "a: [\"x\n# \", " + strings.Repeat("[", 70), "nested more than 64 deep"},
		{"a large file", strings.Repeat("# comment\n", 30_000), "the file has 300000 bytes"},
	} {
		_, err := Parse("f.yaml", []byte(row.text))
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %.200v, want %q", row.name, err, row.want)
		}
	}
	if err := tooDeep("f.yaml", []byte("---\n- [a, b]\n# "+strings.Repeat("-", 200)+"\n"+strings.Repeat("[a]\n", 100))); err != nil {
		t.Errorf("an ordinary file: %v", err)
	}
	many := strings.Repeat("[", 70)
	for _, about := range []string{"x # " + many, `"` + many + `"`, `"\"` + many + `"`, "'it''s " + many + "'", "\n# " + many + "\n  x", `{"a": '` + many + `'}`} {
		if err := tooDeep("f.yaml", []byte("about: "+about+"\n")); err != nil {
			t.Errorf("%s: %v", about, err)
		}
	}
}

// TestByteOrderMark: a file may begin with one.
func TestByteOrderMark(t *testing.T) {
	if _, err := Parse("f.yaml", []byte("\ufeff"+good)); err != nil {
		t.Error(err)
	}
	if _, err := Parse("f.yaml", []byte("\ufeff"+strings.Replace(good, "mine", "my own", 1))); err == nil || !strings.HasPrefix(err.Error(), "f.yaml:1:7: ") {
		t.Errorf("%v", err)
	}
}

// TestNodesOfALock: a file that leaves the topology to the lock names nodes that the lock has.
func TestNodesOfALock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.yaml")
	text := strings.Replace(good, "- fault: pause-client\n  when: {moment: entered}\n  for: 1.5 lease\n", "- {fault: kill-server, node: 4, when: {after: 1s}}\n", 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for own, want := range map[impls.Topology]string{"": "", impls.Independent: "", impls.Standalone: path + ":8:30: must be between 0 and 1\n", impls.Cluster: path + ":8:30: must be between 0 and 3\n"} {
		if _, err := LoadOn(path, own); (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", own, err, want)
		}
	}
}

func TestAFileFullOfErrors(t *testing.T) {
	_, err := Parse("f.yaml", []byte("faults:\n"+strings.Repeat("- {fault: nothing}\n", 10_000)))
	if err == nil || len(err.Error()) > 10_000 || !strings.HasSuffix(err.Error(), " more errors") {
		t.Errorf("%.300v, want 20 errors and the number of others", err)
	}
}

func TestOverridesOutOfBounds(t *testing.T) {
	steady, ok := Find("steady")
	if !ok {
		t.Fatal("no scenario steady")
	}
	for _, row := range []struct{ name, set, want string }{
		{"a value of 100,000 brackets", "lease=" + strings.Repeat("[", 100_000), "--set:1:71: nested more than 64 deep"},
		{"a path of 60,000 parts", strings.Repeat("a.", 60_000) + "a=1", "--set:1:1: the path has more than 64 parts"},
	} {
		_, err := steady.With([]string{row.set})
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %.200v, want %q", row.name, err, row.want)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%s: the message has %d bytes", row.name, len(err.Error()))
		}
	}
}

func TestNameLength(t *testing.T) {
	text := "name: " + strings.Repeat("a", 65) + "\nabout: x\nworkload: counter\nclients: 2\nops: 2\nlease: 300ms\n"
	if _, err := Parse("f.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "f.yaml:1:7: the name has 65 letters") {
		t.Errorf("a name of 65 letters: %v", err)
	}
	if _, err := Parse("f.yaml", []byte(strings.Replace(text, "aa", "a", 1))); err != nil {
		t.Errorf("a name of 64 letters: %v", err)
	}
}
