package results_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// validator knows the part of JSON Schema that our files use. A keyword that it does not know fails the test, so that nobody
// believes in a rule which is never checked.
type validator struct {
	root map[string]any
	errs []string
}

var knownKeywords = []string{"$schema", "$id", "$defs", "$ref", "title", "description", "type", "const", "enum", "required",
	"properties", "additionalProperties", "items", "minimum"}

// checkSchema says what is wrong with a document, one line each.
func checkSchema(t *testing.T, schemaText, document []byte) []string {
	t.Helper()
	var s validator
	if err := json.Unmarshal(schemaText, &s.root); err != nil {
		t.Fatal(err)
	}
	var doc any
	dec := json.NewDecoder(strings.NewReader(string(document)))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, document)
	}
	s.check("$", s.root, doc)
	return s.errs
}

func (s *validator) failf(format string, args ...any) {
	s.errs = append(s.errs, fmt.Sprintf(format, args...))
}

func (s *validator) check(at string, rule map[string]any, v any) {
	for keyword := range rule {
		if !slices.Contains(knownKeywords, keyword) {
			s.failf("%s: the test does not know the keyword %s", at, keyword)
		}
	}
	if ref, ok := rule["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/$defs/")
		s.check(at, s.root["$defs"].(map[string]any)[name].(map[string]any), v)
	}
	if want, ok := rule["const"]; ok && v != want {
		s.failf("%s is %v, want %v", at, v, want)
	}
	if words, ok := rule["enum"].([]any); ok && !slices.Contains(words, v) {
		s.failf("%s is %v, want one of %v", at, v, words)
	}
	if kind, ok := rule["type"].(string); ok && !isA(kind, v) {
		s.failf("%s is %T %v, want %s", at, v, v, kind)
	}
	if low, ok := rule["minimum"].(float64); ok {
		if n, err := asNumber(v); err != nil || n < low {
			s.failf("%s is %v, want at least %v", at, v, low)
		}
	}
	s.checkInside(at, rule, v)
}

func (s *validator) checkInside(at string, rule map[string]any, v any) {
	switch v := v.(type) {
	case []any:
		if item, ok := rule["items"].(map[string]any); ok {
			for i, one := range v {
				s.check(fmt.Sprintf("%s[%d]", at, i), item, one)
			}
		}
	case map[string]any:
		required, _ := rule["required"].([]any)
		for _, name := range required {
			if _, ok := v[name.(string)]; !ok {
				s.failf("%s.%s is missing", at, name)
			}
		}
		named, _ := rule["properties"].(map[string]any)
		others, _ := rule["additionalProperties"].(map[string]any)
		for name, one := range v {
			if r, ok := named[name].(map[string]any); ok {
				s.check(at+"."+name, r, one)
			} else if others != nil {
				s.check(at+"."+name, others, one)
			} else if named != nil {
				s.failf("%s.%s is not in the schema", at, name) // ours must describe every field that we write
			}
		}
	}
}

func isA(kind string, v any) bool {
	switch kind {
	case "object":
		_, ok := v.(map[string]any)
		return ok
	case "array":
		_, ok := v.([]any)
		return ok
	case "string":
		_, ok := v.(string)
		return ok
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "integer":
		n, ok := v.(json.Number)
		return ok && !strings.ContainsAny(n.String(), ".eE")
	case "number":
		n, err := asNumber(v)
		return err == nil && !math.IsNaN(n)
	}
	return false
}

func asNumber(v any) (float64, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, fmt.Errorf("%T", v)
	}
	return n.Float64()
}
