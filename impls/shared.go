package impls

import "sync"

// Shared is what the handles of one client have in common, for variants whose source keeps state in one object
// for all keys. The zero value is ready; it may be used from several goroutines.
type Shared struct {
	mu     sync.Mutex // protects values
	values map[string]any
}

// Get returns the value under a name, made by make at the first call. A nil Shared makes a new one at every call: each
// handle is then on its own.
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
