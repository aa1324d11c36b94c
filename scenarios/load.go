package scenarios

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/lockbench/lockbench/internal/suggest"
)

// Load returns a built-in scenario, or reads a file: a name with a path separator or the extension .yaml or .yml. The error joins the *Errors of
// a file, says that there is no such scenario, or comes from the file system.
func Load(nameOrPath string) (Scenario, error) {
	if isPath(nameOrPath) {
		data, err := os.ReadFile(nameOrPath)
		if err != nil {
			return Scenario{}, fmt.Errorf("scenario: %w", err)
		}
		return Parse(nameOrPath, data)
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
func Parse(file string, data []byte) (Scenario, error) {
	if err := outOfBounds(file, data); err != nil {
		return Scenario{}, err
	}
	s, d := decode(file, data)
	return s, d.err()
}

// problem records an error at the value of a path, or at the nearest enclosing value in the file.
func (d *decoder) problem(path, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
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
		return s, setError(set, path, len(path)+1+err.Column, err.Message)
	}
	if err := unmarshal(value, &leaf); err != nil {
		return s, setError(set, path, len(path)+2, "the value is not YAML: "+err.Error())
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
	changed, d := decode("--set", data)
	if len(d.errs) == 0 {
		return changed, nil
	}
	e := d.errs[0]
	column := strings.IndexByte(set, '=') + 2
	if strings.HasPrefix(e.Message, "unknown field") {
		column = 1
	}
	return s, setError(set, e.Path, column, e.Message)
}

func setError(set, path string, column int, message string) error {
	return &Error{File: "--set", Line: 1, Column: column, Path: path, Message: message, Source: head([]byte(set))}
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

// tooDeep returns an error if a text is nested too deeply.
func tooDeep(file string, data []byte) *Error {
	depth := 0
	for i, line := range bytes.Split(data, []byte("\n")) {
		dashes, start := 0, true
		for j, c := range line {
			switch {
			case c == '[' || c == '{':
				depth++
			case (c == ']' || c == '}') && depth > 0:
				depth--
			case start && (c == '-' || c == '?'):
				dashes++
			}
			start = start && (c == ' ' || c == '-' || c == '?')
			if depth > maxDepth || dashes > maxDepth && j < len(line)-1 {
				return &Error{File: file, Line: i + 1, Column: j + 1, Message: fmt.Sprintf("nested more than %d deep", maxDepth), Source: head(line)}
			}
		}
	}
	return nil
}

// head returns the part of a line that an error shows.
func head(line []byte) string { return string(line[:min(len(line), 2*maxDepth+16)]) }
