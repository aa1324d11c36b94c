package report

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// visible replaces what a terminal, a log or a page would not print but obey: control characters, escape sequences, and the marks that
// turn the direction of text. Names in foreign histories may hold any of them. The end of a line becomes a space.
func visible(text string) string {
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// hidden reports whether a rune does something else than to be seen.
func hidden(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }

// clean is a deep copy of a record in which every text is visible, the keys of maps included. Whatever shows a record cleans it first,
// so that no new field can be forgotten.
func clean[T any](v T) T {
	out := reflect.New(reflect.TypeOf(&v).Elem()).Elem()
	cleanInto(out, reflect.ValueOf(&v).Elem())
	return out.Interface().(T)
}

func cleanInto(to, from reflect.Value) {
	switch from.Kind() {
	case reflect.String:
		to.SetString(visible(from.String()))
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
		to.Set(from) // unexported fields, as of a time, are copied as they are
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
