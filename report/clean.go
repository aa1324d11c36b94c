package report

import (
	"reflect"
	"strings"

	"github.com/lockbench/lockbench/internal/plain"
)

// Clean returns a deep copy of a record in which unprintable characters of every string, also of map keys, are escaped. Every function that shows a
// record cleans it first, so that no new field is forgotten.
func Clean[T any](v T) T {
	out := reflect.New(reflect.TypeOf(&v).Elem()).Elem()
	cleanInto(out, reflect.ValueOf(&v).Elem())
	return out.Interface().(T)
}

// Lines splits a text of several lines, and escapes each.
func Lines(text string) []string {
	return strings.Split(plain.Lines(strings.TrimRight(text, "\n")), "\n")
}

func cleanInto(to, from reflect.Value) {
	switch from.Kind() {
	case reflect.String:
		to.SetString(plain.Text(from.String()))
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(from.Type().Elem()))
			cleanInto(to.Elem(), from.Elem())
		}
	case reflect.Slice:
		if !from.IsNil() {
			to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
			for i := range from.Len() {
				cleanInto(to.Index(i), from.Index(i))
			}
		}
	case reflect.Array:
		for i := range from.Len() {
			cleanInto(to.Index(i), from.Index(i))
		}
	case reflect.Interface:
		if !from.IsNil() {
			inner := reflect.New(from.Elem().Type()).Elem()
			cleanInto(inner, from.Elem())
			to.Set(inner)
		}
	case reflect.Map:
		cleanMap(to, from)
	case reflect.Struct:
		to.Set(from) // copies unexported fields, such as those of a time
		for i := range from.NumField() {
			if from.Type().Field(i).IsExported() {
				to.Field(i).SetZero()
				cleanInto(to.Field(i), from.Field(i))
			}
		}
	default:
		to.Set(from)
	}
}

func cleanMap(to, from reflect.Value) {
	if from.IsNil() {
		return
	}
	to.Set(reflect.MakeMapWithSize(from.Type(), from.Len()))
	for _, k := range from.MapKeys() {
		key, value := reflect.New(k.Type()).Elem(), reflect.New(from.Type().Elem()).Elem()
		cleanInto(key, k)
		cleanInto(value, from.MapIndex(k))
		to.SetMapIndex(key, value)
	}
}
