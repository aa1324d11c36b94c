package scenarios

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/suggest"
)

// Load returns a built-in scenario, or reads a file: a name with a path separator or the extension .yaml or .yml. The error joins the *Errors of
// a file, says that there is no such scenario, or comes from the file system.
func Load(nameOrPath string) (Scenario, error) { return LoadOn(nameOrPath, "") }

// LoadOn is Load for a lock of this topology, which tells how many nodes the faults of a file may name if the file leaves the topology to the lock.
func LoadOn(nameOrPath string, own impls.Topology) (Scenario, error) {
	if isPath(nameOrPath) {
		data, err := os.ReadFile(nameOrPath)
		if err != nil {
			return Scenario{}, fmt.Errorf("scenario: %w", err)
		}
		return parse(nameOrPath, data, own)
	}
	if s, ok := Find(nameOrPath); ok {
		return s, nil
	}
	return Scenario{}, fmt.Errorf("%w %q%s", errUnknown, nameOrPath, cmp.Or(suggest.Hint(nameOrPath, order), "; 'lockbench list scenarios' shows them"))
}

func isPath(s string) bool {
	ext := filepath.Ext(s)
	return ext == ".yaml" || ext == ".yml" || strings.ContainsRune(s, filepath.Separator)
}

// Parse parses one scenario; errors name file. They are joined *Error.
func Parse(file string, data []byte) (Scenario, error) { return parse(file, data, "") }

func parse(file string, data []byte, own impls.Topology) (Scenario, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors begin a file with a byte order mark
	if err := outOfBounds(file, data); err != nil {
		return Scenario{}, err
	}
	s, d := decode(file, data, own)
	return s, d.err()
}

// problem records an error at the value of a path, or at the nearest enclosing value in the file.
func (d *decoder) problem(path, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if _, given := d.at[path]; !given && slices.Contains([]string{"name", "clients", "lease"}, path) {
		message = "is missing"
	}
	for at := path; ; at = parent(at) {
		if tok, ok := d.at[at]; ok || at == "" {
			if at != path && lastOf(path) != "" {
				message = path + ": " + message
			}
			d.fail(path, tok, "%s", message)
			return
		}
	}
}

func parent(path string) string {
	i := strings.LastIndexByte(path, '.')
	return path[:max(0, i)]
}

// With returns the scenario with overrides "path=value", the form of --set. A path has fields and, for lists, positions from 0: "lease=2s",
// "faults.0.when.nth=3". The position after a list's last appends. The value is YAML. The result is validated like a file; errors are *Error.
func (s Scenario) With(sets []string) (Scenario, error) {
	for _, set := range sets {
		var err error
		if s, err = s.with(set); err != nil {
			return Scenario{}, err
		}
	}
	return s, nil
}

func (s Scenario) with(set string) (Scenario, error) {
	path, value, ok := strings.Cut(set, "=")
	path, value = strings.TrimSpace(path), strings.TrimSpace(value)
	if !ok || path == "" {
		return s, setError(set, path, 1, "an override looks like lease=2s or faults.0.for=\"2 lease\"")
	}
	if strings.Count(path, ".") > maxDepth {
		return s, setError(set, path, 1, fmt.Sprintf("the path has more than %d parts", maxDepth))
	}
	tree, err := s.tree()
	if err != nil {
		return s, err
	}
	var leaf any
	if err := tooDeep("--set", []byte(value)); err != nil {
		return s, setError(set, path, utf8.RuneCountInString(path)+1+err.Column, err.Message)
	}
	if err := unmarshal(value, &leaf); err != nil {
		return s, setError(set, path, utf8.RuneCountInString(path)+2, "the value is not YAML: "+err.Error())
	}
	if _, err := assign(tree, strings.Split(path, "."), leaf); err != nil {
		return s, setError(set, path, 1, err.Error())
	}
	return s.reload(set, tree)
}

// reload parses the changed tree; errors have the position of the override.
func (s Scenario) reload(set string, tree any) (Scenario, error) {
	data, err := yaml.Marshal(tree)
	if err != nil {
		return s, err
	}
	changed, d := decode("--set", data, "")
	if len(d.errs) == 0 {
		return changed, nil
	}
	e := d.errs[0]
	field, _, _ := strings.Cut(set, "=")
	column := utf8.RuneCountInString(field) + 2
	if strings.HasPrefix(e.Message, "unknown field") {
		column = 1
	}
	return s, setError(set, e.Path, column, e.Message)
}

func setError(set, path string, column int, message string) error {
	return &Error{File: "--set", Line: 1, Column: column, Path: path, Message: message, Source: set}
}

// assign sets the value at a path below node to leaf, and returns the changed node.
func assign(node any, path []string, leaf any) (any, error) {
	if len(path) == 0 {
		return leaf, nil
	}
	switch n := node.(type) {
	case nil:
		if _, err := strconv.Atoi(path[0]); err == nil {
			return assign([]any{}, path, leaf)
		}
		return assign(map[string]any{}, path, leaf)
	case map[string]any:
		child, err := assign(n[path[0]], path[1:], leaf)
		n[path[0]] = child
		return n, err
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i > len(n) {
			return n, fmt.Errorf("%q is not a position in a list of %d", path[0], len(n))
		}
		if i == len(n) {
			n = append(n, nil)
		}
		n[i], err = assign(n[i], path[1:], leaf)
		return n, err
	}
	return node, fmt.Errorf("%q cannot be set: its parent is a single value", strings.Join(path, "."))
}

// Limits of a scenario file. The YAML parser uses some 25 kB for each level of nesting; no scenario needs more than five.
const (
	maxFile  = 256 << 10 // bytes
	maxDepth = 64        // open brackets, or "- " and "? " at the start of a line
)

// outOfBounds returns an error if a file is too large or nested too deeply.
func outOfBounds(file string, data []byte) *Error {
	if len(data) > maxFile {
		return &Error{File: file, Line: 1, Column: 1, Message: fmt.Sprintf("the file has %d bytes, a scenario has at most %d", len(data), maxFile)}
	}
	return tooDeep(file, data)
}

// tooDeep returns an error if a text is nested too deeply. Quoted text and comments do not nest.
func tooDeep(file string, data []byte) *Error {
	depth, whole := 0, true
	for i, line := range bytes.Split(data, []byte("\n")) {
		dashes, start := 0, true
		ends := -1 // of the quoted text or comment that is under way
		for j, c := range line {
			if j <= ends {
				continue
			}
			if whole { // after a quotation of several lines, what is quoted is not known without a parser: everything counts
				ends, whole = skipped(line, j)
			}
			switch {
			case j <= ends:
			case c == '[' || c == '{':
				depth++
			case (c == ']' || c == '}') && depth > 0:
				depth--
			case start && (c == '-' || c == '?'):
				dashes++
			}
			start = start && (c == ' ' || c == '-' || c == '?')
			if depth > maxDepth || dashes > maxDepth && j < len(line)-1 {
				return &Error{File: file, Line: i + 1, Column: utf8.RuneCount(line[:j]) + 1, Message: fmt.Sprintf("nested more than %d deep", maxDepth), Source: string(line)}
			}
		}
	}
	return nil
}

// skipped returns the last byte of the comment or the quoted text that begins at byte j of a line, -1 if neither does, and whether it ends in the line.
// A quotation mark within a plain text, as in "don't", begins nothing.
func skipped(line []byte, j int) (last int, whole bool) {
	before := bytes.TrimRight(line[:j], " \t")
	apart := len(before) < j || j == 0
	switch c := line[j]; {
	case c == '#' && apart:
		return len(line) - 1, true
	case c != '"' && c != '\'' || !beginsValue(before, apart):
		return -1, true
	}
	for k := j + 1; k < len(line); k++ {
		switch {
		case line[j] == '"' && line[k] == '\\':
			k++ // the next is escaped
		case line[k] != line[j]:
		case line[j] == '\'' && k+1 < len(line) && line[k+1] == '\'':
			k++ // two stand for one
		default:
			return k, true
		}
	}
	return len(line) - 1, false
}

// beginsValue reports whether a value begins after a part of a line, and is not the rest of a plain text.
func beginsValue(before []byte, apart bool) bool {
	if len(bytes.Trim(before, " -?")) == 0 {
		return apart || len(before) == 0
	}
	switch before[len(before)-1] {
	case '[', '{', ',':
		return true
	case ':':
		return apart
	}
	return false
}
