package scenarios

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/internal/foreign"
)

// decoder decodes the syntax tree of one file into a Scenario. The YAML library parses and
// converts; the decoder assigns the values to fields, because the library's own strict decoder
// reads 2.5 as 2, "2" as 2 and nothing as 0, stops at the first error, and has no position for an
// invalid span.
type decoder struct {
	file  string
	lines []string
	at    map[string]*token.Token // position of each path, for errors found later
	errs  []*Error
}

// zeroTimes reports faults that are placed at the time 0, which to the rest is no time at all.
func (d *decoder) zeroTimes(s Scenario) {
	for i, f := range s.Faults {
		for _, t := range []struct {
			name string
			span faults.Span
		}{{"after", f.When.After}, {"within", f.When.Within}} {
			path := fmt.Sprintf("faults.%d.when.%s", i, t.name)
			if at, given := d.at[path]; given && t.span == (faults.Span{}) && len(d.errs) == 0 {
				d.fail(path, at, "must be more than 0; a fault without when is there from the start, if its kind allows it")
			}
		}
	}
}

// quotedWord finds what a message quotes first: of a value with several words, the one that is
// wrong.
var quotedWord = regexp.MustCompile(`"((?:[^"\\]|\\.)+)"`)

// fail records an error at a token, or at the word of it that the message quotes; nil means the
// start of the file.
func (d *decoder) fail(path string, at *token.Token, format string, args ...any) {
	e := &Error{File: d.file, Line: 1, Column: 1, Path: path, Message: fmt.Sprintf(format, args...)}
	if at != nil && at.Position != nil {
		e.Line, e.Column = max(1, at.Position.Line), max(1, at.Position.Column)
	}
	if e.Line <= len(d.lines) {
		e.Source = d.lines[e.Line-1]
	}
	if m := quotedWord.FindStringSubmatch(e.Message); m != nil && at != nil {
		source := []rune(e.Source)
		rest := string(source[min(e.Column-1, len(source)):])
		if before, _, found := strings.Cut(rest, m[1]); found {
			e.Column += utf8.RuneCountInString(strings.TrimRight(before, `"'`))
		}
	}
	d.errs = append(d.errs, e)
}

// mostErrors is how many errors of one file are shown.
const mostErrors = 20

// err returns the errors in the order of their lines.
func (d *decoder) err() error {
	slices.SortStableFunc(d.errs, func(a, b *Error) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
	var errs []error
	for _, e := range d.errs[:min(len(d.errs), mostErrors)] {
		errs = append(errs, e)
	}
	if more := len(d.errs) - mostErrors; more > 0 {
		errs = append(errs, fmt.Errorf("%s: %d more errors", d.file, more))
	}
	return errors.Join(errs...)
}

// value decodes a node at path into v.
func (d *decoder) value(n ast.Node, v reflect.Value, path string) {
	d.at[path] = place(n)
	switch kind := v.Kind(); {
	case kind == reflect.Struct && !isText(v):
		d.mapping(n, v, path)
	case kind == reflect.Slice || kind == reflect.Array:
		d.sequence(n, v, path)
	default:
		d.single(n, v, path)
	}
}

// isText reports whether a value is written as text, such as a span.
func isText(v reflect.Value) bool {
	_, is := v.Addr().Interface().(encoding.TextUnmarshaler)
	return is
}

// place returns where a node begins. For a block mapping that is its first key; the library returns
// the first colon.
func place(n ast.Node) *token.Token {
	if pairs, ok := n.(ast.MapNode); ok && n.GetToken().Type == token.MappingValueType {
		if it := pairs.MapRange(); it.Next() {
			return it.Key().GetToken()
		}
	}
	return n.GetToken()
}

func (d *decoder) mapping(n ast.Node, v reflect.Value, path string) {
	pairs, ok := n.(ast.MapNode)
	if !ok {
		d.fail(path, n.GetToken(), "want a mapping, got %s", describe(n))
		return
	}
	fields := fieldsOf(v.Type())
	for it := pairs.MapRange(); it.Next(); {
		key := it.Key().GetToken()
		field, ok := fields[key.Value]
		if !ok {
			d.fail(join(path, key.Value), key, "unknown field %q%s", key.Value, hint(key.Value, fields))
			continue
		}
		d.value(it.Value(), v.Field(field), join(path, key.Value))
	}
}

// fieldsOf returns the fields of a struct by their YAML names.
func fieldsOf(t reflect.Type) map[string]int {
	fields := map[string]int{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		fields[name] = i
	}
	return fields
}

func hint(word string, fields map[string]int) string {
	known := slices.Collect(maps.Keys(fields))
	return cmp.Or(foreign.Hint(word, known), "; known are "+foreign.List(known))
}

func (d *decoder) sequence(n ast.Node, v reflect.Value, path string) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fail(path, place(n), "want a list, got %s", describe(n))
		return
	}
	if v.Kind() == reflect.Array && len(seq.Values) != v.Len() {
		d.fail(path, n.GetToken(), "want %d values, got %d", v.Len(), len(seq.Values))
		return
	}
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values)))
	}
	for i, item := range seq.Values {
		d.value(item, v.Index(i), join(path, strconv.Itoa(i)))
	}
}

// exponential matches numbers such as 1e+06, which the library reads as text although it writes
// large numbers so.
var exponential = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$`)

func (d *decoder) single(n ast.Node, v reflect.Value, path string) {
	t := n.GetToken()
	var want string
	nodes := []ast.NodeType{ast.IntegerType}
	text, isText := v.Addr().Interface().(encoding.TextUnmarshaler)
	isExponential := v.Kind() == reflect.Float64 && t.Type == token.StringType && exponential.MatchString(t.Value)
	switch {
	case isText: // to YAML, the span 0 is a number
		want, nodes = "text", []ast.NodeType{ast.StringType, ast.IntegerType, ast.FloatType}
	case v.Kind() == reflect.String:
		want, nodes = "text", []ast.NodeType{ast.StringType, ast.LiteralType}
	case v.Kind() == reflect.Float64:
		want, nodes = "a number", append(nodes, ast.FloatType)
	default:
		want = "a whole number"
	}
	if !slices.Contains(nodes, n.Type()) && !isExponential {
		d.fail(path, t, "want %s, got %s", want, describe(n))
		return
	}
	var err error
	if isText {
		err = text.UnmarshalText([]byte(t.Value))
	} else {
		err = yaml.NodeToValue(n, v.Addr().Interface())
	}
	if _, ok := errors.AsType[yaml.Error](err); ok { // it is too large
		d.fail(path, t, "want %s, got %s", want, describe(n))
	} else if err != nil {
		d.fail(path, t, "%v", err)
	}
	// the library loses some control characters in what it writes
	isControl := func(r rune) bool { return unicode.IsControl(r) && r != '\n' }
	if v.Kind() == reflect.String && strings.ContainsFunc(v.String(), isControl) {
		d.fail(path, t, "want text without tabs and other control characters, got %s", describe(n))
	}
	if n.Type() == ast.LiteralType {
		v.SetString(strings.TrimSpace(v.String())) // it ends in a newline
	}
}

func describe(n ast.Node) string {
	switch n.(type) {
	case ast.MapNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		return "an anchor, alias or tag, which scenarios do not use"
	}
	const shown = 40
	if value := []rune(n.GetToken().Value); len(value) > shown {
		return fmt.Sprintf("%q…", string(value[:shown]))
	}
	return fmt.Sprintf("%q", n.GetToken().Value)
}

func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}
