package scenarios

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/lockbench/lockbench/internal/suggest"
)

// decoder decodes the syntax tree of one file into a Scenario. It is stricter than the YAML library's decoder: it does not convert between
// numbers and strings, ignores nothing, and gives every error a position.
type decoder struct {
	file  string
	lines []string
	at    map[string]*token.Token // position of each path, for errors found later
	errs  []*Error
}

// decode decodes a scenario. The decoder has the errors and the positions.
func decode(file string, data []byte) (Scenario, *decoder) {
	d := &decoder{file: file, lines: strings.Split(string(data), "\n"), at: map[string]*token.Token{}}
	var s Scenario
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		d.syntax(err)
		return s, d
	}
	if len(tree.Docs) != 1 || tree.Docs[0].Body == nil {
		d.fail("", nil, "want one YAML document, a mapping; there are %d", bodies(tree))
		return s, d
	}
	d.value(tree.Docs[0].Body, reflect.ValueOf(&s).Elem(), "")
	return s, d
}

func bodies(tree *ast.File) (n int) {
	for _, doc := range tree.Docs {
		if doc.Body != nil {
			n++
		}
	}
	return n
}

func (d *decoder) syntax(err error) {
	if e, ok := errors.AsType[yaml.Error](err); ok {
		d.fail("", e.GetToken(), "%s", e.GetMessage())
		return
	}
	d.fail("", nil, "%v", err)
}

// fail records an error at a token; nil means the start of the file.
func (d *decoder) fail(path string, at *token.Token, format string, args ...any) {
	e := &Error{File: d.file, Line: 1, Column: 1, Path: path, Message: fmt.Sprintf(format, args...)}
	if at != nil && at.Position != nil {
		e.Line, e.Column = max(1, at.Position.Line), max(1, at.Position.Column)
	}
	if e.Line <= len(d.lines) {
		e.Source = d.lines[e.Line-1]
	}
	d.errs = append(d.errs, e)
}

// err joins the errors.
func (d *decoder) err() error {
	errs := make([]error, len(d.errs))
	for i, e := range d.errs {
		errs[i] = e
	}
	return errors.Join(errs...)
}

// value decodes a node at path into v.
func (d *decoder) value(n ast.Node, v reflect.Value, path string) {
	d.at[path] = place(n)
	if _, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		d.text(n, v, path)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.mapping(n, v, path)
	case reflect.Slice, reflect.Array:
		d.sequence(n, v, path)
	default:
		d.scalar(n, v, path)
	}
}

// place returns where a node begins. For a block mapping that is its first key; the library returns the first colon.
func place(n ast.Node) *token.Token {
	if pairs, ok := n.(ast.MapNode); ok && n.GetToken().Type == token.MappingValueType {
		if it := pairs.MapRange(); it.Next() {
			return it.Key().GetToken()
		}
	}
	return n.GetToken()
}

// mapping decodes the fields of a struct.
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
	known := make([]string, 0, len(fields))
	for k := range fields {
		known = append(known, k)
	}
	if s := suggest.Hint(word, known); s != "" {
		return s
	}
	return "; known are " + list(known)
}

func (d *decoder) sequence(n ast.Node, v reflect.Value, path string) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fail(path, n.GetToken(), "want a list, got %s", describe(n))
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

// text decodes a TextUnmarshaler, such as a span.
func (d *decoder) text(n ast.Node, v reflect.Value, path string) {
	text, ok := word(n)
	if !ok {
		d.fail(path, n.GetToken(), "want text, got %s", describe(n))
		return
	}
	if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
		d.fail(path, n.GetToken(), "%v", err)
	}
}

// word returns the text of a scalar as written: to YAML, the span 0 is a number.
func word(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func (d *decoder) scalar(n ast.Node, v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.String:
		switch n := n.(type) {
		case *ast.StringNode:
			v.SetString(n.Value)
			return
		case *ast.LiteralNode:
			v.SetString(strings.TrimSpace(n.Value.Value))
			return
		}
		d.fail(path, n.GetToken(), "want text, got %s", describe(n))
	case reflect.Int, reflect.Int64:
		i, ok := whole(n)
		if !ok || v.OverflowInt(i) {
			d.fail(path, n.GetToken(), "want a whole number, got %s", describe(n))
			return
		}
		v.SetInt(i)
	case reflect.Float64:
		f, ok := number(n)
		if !ok {
			d.fail(path, n.GetToken(), "want a number, got %s", describe(n))
			return
		}
		v.SetFloat(f)
	case reflect.Bool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			d.fail(path, n.GetToken(), "want true or false, got %s", describe(n))
			return
		}
		v.SetBool(b.Value)
	default:
		d.fail(path, n.GetToken(), "this field cannot be set from a file")
	}
}

func whole(n ast.Node) (int64, bool) {
	i, ok := n.(*ast.IntegerNode)
	if !ok {
		return 0, false
	}
	switch x := i.Value.(type) {
	case int64:
		return x, true
	case uint64:
		return int64(x), x <= math.MaxInt64
	}
	return 0, false
}

func number(n ast.Node) (float64, bool) {
	if f, ok := n.(*ast.FloatNode); ok {
		return f.Value, true
	}
	i, ok := whole(n)
	return float64(i), ok
}

// describe names a node in an error.
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
	return fmt.Sprintf("%q", n.GetToken().Value)
}

func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}
