// Package schematest validates documents against the JSON Schemas of this repository, in tests. It supports only the keywords that these schemas use, and
// reports each mismatch with its place in the document.
package schematest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// validator validates one document. An unknown keyword is a mismatch, so that no rule stays unchecked.
type validator struct {
	root map[string]any
	errs []string
}

var knownKeywords = []string{"$schema", "$id", "$defs", "$ref", "title", "description", "type", "const", "enum", "required",
	"properties", "additionalProperties", "items", "minimum", "minLength", "maxItems", "oneOf", "dependentRequired"}

// Check returns the mismatches of a document.
func Check(t *testing.T, schemaText, document []byte) []string {
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
			s.failf("%s: unknown keyword %s", at, keyword)
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
	if text, ok := v.(string); ok && float64(len(text)) < limit(rule, "minLength", 0) {
		s.failf("%s is %q, want at least %v letters", at, text, rule["minLength"])
	}
	s.checkOneOf(at, rule, v)
	s.checkInside(at, rule, v)
}

// checkOneOf requires that exactly one of several rules is met.
func (s *validator) checkOneOf(at string, rule map[string]any, v any) {
	rules, ok := rule["oneOf"].([]any)
	if !ok {
		return
	}
	met := 0
	var errs []string
	for _, r := range rules {
		one := validator{root: s.root}
		one.check(at, r.(map[string]any), v)
		errs = append(errs, one.errs...)
		if len(one.errs) == 0 {
			met++
		}
	}
	if met != 1 {
		s.failf("%s meets %d of %d forms: %s", at, met, len(rules), strings.Join(errs, "; "))
	}
}

func limit(rule map[string]any, keyword string, otherwise float64) float64 {
	if n, ok := rule[keyword].(float64); ok {
		return n
	}
	return otherwise
}

func (s *validator) checkInside(at string, rule map[string]any, v any) {
	switch v := v.(type) {
	case []any:
		if float64(len(v)) > limit(rule, "maxItems", math.Inf(1)) {
			s.failf("%s has %d items, want at most %v", at, len(v), rule["maxItems"])
		}
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
		dependent, _ := rule["dependentRequired"].(map[string]any)
		for name, needs := range dependent {
			if _, ok := v[name]; !ok {
				continue
			}
			for _, need := range needs.([]any) {
				if _, ok := v[need.(string)]; !ok {
					s.failf("%s.%s is missing, which %s needs", at, need, name)
				}
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
				s.failf("%s.%s is not in the schema", at, name) // our schemas must describe every field that we write
			}
		}
	}
}

func isA(kind string, v any) bool {
	switch kind {
	case "null":
		return v == nil
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
