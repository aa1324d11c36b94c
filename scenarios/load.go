package scenarios

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/foreign"
)

// Load returns a built-in scenario, or reads a file: a name with a path separator or the extension
// .yaml or .yml. The error joins the *Errors of a file, says that there is no such scenario, or
// comes from the file system.
func Load(nameOrPath string) (Scenario, error) { return LoadOn(nameOrPath, "") }

// LoadOn is Load for a lock of this topology, which tells how many nodes the faults of a file may
// name if the file leaves the topology to the lock.
func LoadOn(nameOrPath string, own impls.Topology) (Scenario, error) {
	ext := filepath.Ext(nameOrPath)
	if ext == ".yaml" || ext == ".yml" || strings.ContainsRune(nameOrPath, filepath.Separator) {
		data, err := foreign.Read(nameOrPath, maxFile)
		if err != nil {
			return Scenario{}, fmt.Errorf("scenario: %w", err)
		}
		return parse(nameOrPath, data, own)
	}
	if s, ok := Find(nameOrPath); ok {
		return s, nil
	}
	return Scenario{}, fmt.Errorf("%w %q%s", errUnknown, nameOrPath, cmp.Or(foreign.Hint(nameOrPath, order), "; 'lockbench list scenarios' shows them"))
}

// Parse parses one scenario; errors name file. They are joined *Error.
func Parse(file string, data []byte) (Scenario, error) { return parse(file, data, "") }

// parse decodes and validates a scenario, for a lock whose own topology may be known.
func parse(file string, data []byte, own impls.Topology) (s Scenario, err error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors begin a file with a byte order mark
	if len(data) > maxFile {
		return s, &Error{File: file, Line: 1, Column: 1, Message: fmt.Sprintf("the file has %d bytes, a scenario has at most %d", len(data), maxFile)}
	}
	if err := tooDeep(file, data); err != nil {
		return s, err
	}
	d := &decoder{file: file, lines: strings.Split(string(data), "\n"), at: map[string]*token.Token{}}
	tree, err := parser.ParseBytes(data, 0)
	if e, ok := errors.AsType[yaml.Error](err); ok {
		msg := e.GetMessage()
		if strings.Contains(msg, "\t") {
			msg = "YAML allows no tab as indentation: indent with spaces"
		}
		d.fail("", e.GetToken(), "%s", msg)
		return s, d.err()
	}
	if err != nil {
		d.fail("", nil, "%v", err)
		return s, d.err()
	}
	bodies := slices.DeleteFunc(slices.Clone(tree.Docs), func(doc *ast.DocumentNode) bool { return doc.Body == nil })
	if len(tree.Docs) != 1 || len(bodies) != 1 {
		d.fail("", nil, "want one YAML document, a mapping; there are %d", len(bodies))
		return s, d.err()
	}
	d.value(bodies[0].Body, reflect.ValueOf(&s).Elem(), "")
	d.zeroTimes(s)
	if len(d.errs) == 0 {
		s.validate(own, d.problem)
	} else {
		d.validateRest(s, own)
	}
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
