package scenarios

import (
	"encoding"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFieldsAreDocumented: the documentation has every field of a file, and no other; those without
// a default must be given.
func TestFieldsAreDocumented(t *testing.T) {
	var documented []string
	for _, f := range Fields() {
		documented = append(documented, f.Path)
	}
	known := paths(reflect.TypeFor[Scenario](), "")
	slices.Sort(documented)
	slices.Sort(known)
	if diff := cmp.Diff(known, documented); diff != "" {
		t.Errorf("- in a file, + documented:\n%s", diff)
	}
	for _, f := range Fields() {
		if strings.Contains(f.Path, ".") {
			continue
		}
		var rest []string
		for line := range strings.Lines(good) {
			if !strings.HasPrefix(line, f.Path+":") {
				rest = append(rest, line)
			}
		}
		if f.Path == "faults" {
			rest = rest[:len(rest)-3]
		}
		_, err := Parse("f.yaml", []byte(strings.Join(rest, "")))
		// ops, or duration, which the file does not have
		if given := f.Default == "" || f.Path == "ops"; (err != nil) != given {
			t.Errorf("without %s: %v; its default is %q", f.Path, err, f.Default)
		}
	}
}

// paths lists the fields of a struct, and of the structs and lists in it, by their YAML names.
func paths(of reflect.Type, above string) (all []string) {
	for name, i := range fieldsOf(of) {
		path, kind := join(above, name), of.Field(i).Type
		all = append(all, path)
		if kind.Kind() == reflect.Slice {
			kind = kind.Elem()
		}
		if kind.Kind() == reflect.Struct && !reflect.PointerTo(kind).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			all = append(all, paths(kind, path)...)
		}
	}
	return all
}
