package history

import (
	"reflect"
	"slices"
	"strings"
)

// Headers, commands, fault windows and their effects are read and written by the tags of their
// structs: json names a field, and is gives the range of its numbers. Operations have code of their
// own, for speed.

// fields returns a function that reads a named field of an object into the struct that v points to.
// Unknown fields are skipped.
func (s *scanner) fields(v any) func(name []byte) {
	to := reflect.ValueOf(v).Elem()
	tags, known := s.tags[to.Type()]
	if !known {
		for i := range to.NumField() {
			field := to.Type().Field(i)
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
				tags = append(tags, tag{name, field.Tag.Get("is"), i})
			}
		}
		if s.tags == nil {
			s.tags = map[reflect.Type][]tag{}
		}
		s.tags[to.Type()] = tags
	}
	var has uint64
	return func(name []byte) {
		i := slices.IndexFunc(tags, func(t tag) bool { return t.name == string(name) })
		if i < 0 {
			s.skip(0)
			return
		}
		s.once(has&(1<<i) == 0, name)
		has |= 1 << i
		s.value(to.Field(tags[i].index).Addr().Interface(), tags[i].is)
	}
}

// value reads a value into *to.
func (s *scanner) value(to any, is string) {
	switch to := to.(type) {
	case *string:
		*to = s.intern(s.text())
	case *Kind:
		*to = Kind(kinds[s.word(kinds[:], "one of mutex, reentrant, rw, semaphore")])
	case *bool:
		*to = s.boolean()
	case *uint64:
		*to = s.unsigned()
	case *int64:
		*to = s.whole(is)
	case *int:
		*to = int(s.whole(is))
	case *Does:
		s.list(func() {
			if i := slices.Index(doesWords, string(s.text())); i >= 0 { // another version may write others
				*to |= 1 << i
			}
		})
	case *[]string:
		s.list(func() { *to = append(*to, s.intern(s.text())) })
	case *[]Effect:
		s.list(func() {
			var e Effect
			s.object("an effect", s.fields(&e))
			*to = append(*to, e)
		})
	}
}

// whole reads an integer of a range.
func (s *scanner) whole(is string) int64 {
	switch is {
	case "instant":
		return s.instant()
	case "duration":
		return s.within(0, boundedTime, "nanoseconds")
	case "node":
		return s.within(-1, 1<<20, "the number of a node") // -1 means none
	case "quorum":
		return s.within(0, 1<<20, "nodes")
	case "permits":
		return s.within(0, 1<<20, "permits")
	}
	return s.integer()
}
