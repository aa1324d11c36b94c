package report

import (
	"reflect"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/internal/foreign"
)

// Clean returns a deep copy of a record in which unprintable characters of every string, also of
// map keys, are escaped. Every function that shows a record cleans it first, so that no new field
// is forgotten.
func Clean[T any](v T) T {
	return cleaned(reflect.ValueOf(&v).Elem()).Interface().(T)
}

// Lines splits a text of several lines, and escapes each.
func Lines(text string) []string {
	return strings.Split(foreign.Lines(strings.TrimRight(text, "\n")), "\n")
}

func cleaned(from reflect.Value) reflect.Value {
	to := reflect.New(from.Type()).Elem()
	to.Set(from) // numbers, nil, and unexported fields, such as those of a time, stay
	kind := from.Kind()
	if slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map}, kind) && from.IsNil() {
		return to
	}
	switch kind {
	case reflect.String:
		to.SetString(foreign.Text(from.String()))
	case reflect.Pointer:
		to.Set(reflect.New(from.Type().Elem()))
		to.Elem().Set(cleaned(from.Elem()))
	case reflect.Interface:
		to.Set(cleaned(from.Elem()))
	case reflect.Slice, reflect.Array:
		if kind == reflect.Slice {
			to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
		}
		for i := range from.Len() {
			to.Index(i).Set(cleaned(from.Index(i)))
		}
	case reflect.Map:
		to.Set(reflect.MakeMapWithSize(from.Type(), from.Len()))
		for _, k := range from.MapKeys() {
			to.SetMapIndex(cleaned(k), cleaned(from.MapIndex(k)))
		}
	case reflect.Struct:
		for i := range from.NumField() {
			if from.Type().Field(i).IsExported() {
				to.Field(i).Set(cleaned(from.Field(i)))
			}
		}
	}
	return to
}
