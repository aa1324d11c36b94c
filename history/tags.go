package history

import (
	"reflect"
	"slices"
	"strings"
)

// Headers, commands, fault windows and their effects are read and written by the tags of their
// structs: json names a field, and is gives the range of its numbers. Operations have code of their
// own, for speed.

// tagsOf returns the tagged fields of a struct type.
func (s *scanner) tagsOf(of reflect.Type) []tag {
	known, ok := s.tags[of]
	if ok {
		return known
	}
	for i := range of.NumField() {
		if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "" {
			known = append(known, tag{name, of.Field(i).Tag.Get("is"), i})
		}
	}
	if s.tags == nil {
		s.tags = map[reflect.Type][]tag{}
	}
	s.tags[of] = known
	return known
}

// fields returns a function that reads a named field of an object into the struct that v points to.
// Unknown fields are skipped.
func (s *scanner) fields(v any) func(name []byte) {
	to := reflect.ValueOf(v).Elem()
	tags := s.tagsOf(to.Type())
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
		*to = s.pool.of(s.text())
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
		s.list(func() { *to |= doing(string(s.text())) })
	case *[]string:
		s.list(func() { *to = append(*to, s.pool.of(s.text())) })
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
		return s.node()
	case "quorum":
		return s.within(0, 1<<20, "nodes")
	case "permits":
		return s.within(0, 1<<20, "permits")
	}
	return s.integer()
}

// node reads the number of a node; -1 means none.
func (s *scanner) node() int64 { return s.within(-1, 1<<20, "the number of a node") }
