package impls

import "sync"

// Shared is state shared by the handles of one client, for locks whose source keeps one object for
// all keys. The zero value is ready to use; it is safe for concurrent use.
type Shared struct {
	mu     sync.Mutex // protects values
	values map[string]any
}

// Get returns the value under a name, made by make on the first call. A nil Shared makes a new
// value on every call.
func (s *Shared) Get(name string, make func() any) any {
	if s == nil {
		return make()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = map[string]any{}
	}
	if _, ok := s.values[name]; !ok {
		s.values[name] = make()
	}
	return s.values[name]
}
