package scenarios

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// With returns the scenario with overrides "path=value", the form of --set. A path has fields and,
// for lists, positions from 0: "lease=2s", "faults.0.when.nth=3". The position after a list's last
// appends. The value is YAML. The result is validated like a file; errors are *Error.
func (s Scenario) With(sets []string) (Scenario, error) {
	for _, set := range sets {
		var err error
		if s, err = s.with(set); err != nil {
			return Scenario{}, err
		}
	}
	return s, nil
}

// Validate returns the first error of a scenario whose fields were set by a program, as an *Error
// with its path; nil if there is none.
func (s Scenario) Validate() error {
	var first *Error
	s.validate("", func(path, format string, args ...any) {
		if first == nil {
			first = &Error{Path: path, Message: fmt.Sprintf(format, args...)}
		}
	})
	if first == nil {
		return nil
	}
	return first
}

func (s Scenario) with(set string) (Scenario, error) {
	path, value, ok := strings.Cut(set, "=")
	begin := utf8.RuneCountInString(path) + 2 // the column of the value
	path = strings.TrimSpace(path)
	fail := func(column int, message string) (Scenario, error) {
		return s, &Error{File: "--set", Line: 1, Column: column, Path: path, Message: message, Source: set}
	}
	if !ok || path == "" {
		return fail(1, "an override looks like lease=2s or faults.0.for=\"2 lease\"")
	}
	if strings.Count(path, ".") > maxDepth {
		return fail(1, fmt.Sprintf("the path has more than %d parts", maxDepth))
	}
	to, err := target(reflect.ValueOf(&s).Elem(), strings.Split(path, "."))
	if err != nil {
		return fail(1, err.Error())
	}
	if err := tooDeep("--set", []byte(value)); err != nil {
		return fail(begin+err.Column-1, err.Message)
	}
	tree, err := parser.ParseBytes([]byte(value), 0)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return fail(begin, "the value is not YAML: "+first)
	}
	leaf := ast.Node(ast.Null(token.New("", "", &token.Position{Line: 1, Column: 1})))
	if len(tree.Docs) > 0 && tree.Docs[0].Body != nil {
		leaf = tree.Docs[0].Body
	}
	d := &decoder{file: "--set", lines: strings.Split(value, "\n"), at: map[string]*token.Token{}}
	to.SetZero()
	d.value(leaf, to, path)
	d.zeroTimes(s)
	if len(d.errs) == 0 {
		s.validate("", func(at, format string, args ...any) {
			message := fmt.Sprintf(format, args...)
			if tok, given := d.at[at]; given {
				d.fail(at, tok, "%s", message)
				return
			}
			d.fail(at, leaf.GetToken(), "%s: %s", at, message)
		})
	}
	if len(d.errs) > 0 {
		return fail(begin+d.errs[0].Column-1, d.errs[0].Message)
	}
	return s, nil
}

// target returns the value at a path. Lists on the way are copied, so that no other scenario
// changes; the position after the last adds an element.
func target(v reflect.Value, path []string) (reflect.Value, error) {
	for i, part := range path {
		switch kind := v.Kind(); {
		case kind == reflect.Slice || kind == reflect.Array:
			at, err := strconv.Atoi(part)
			if err != nil || at < 0 || at > v.Len() || at == v.Len() && kind == reflect.Array {
				return v, fmt.Errorf("%q is not a position in a list of %d", part, v.Len())
			}
			if kind == reflect.Slice {
				own := reflect.MakeSlice(v.Type(), max(v.Len(), at+1), max(v.Len(), at+1))
				reflect.Copy(own, v)
				v.Set(own)
			}
			v = v.Index(at)
		case kind == reflect.Struct && !isText(v):
			fields := fieldsOf(v.Type())
			field, known := fields[part]
			if !known {
				return v, fmt.Errorf("unknown field %q%s", part, hint(part, fields))
			}
			v = v.Field(field)
		default:
			return v, fmt.Errorf("%q cannot be set: its parent is a single value", strings.Join(path[i:], "."))
		}
	}
	return v, nil
}
