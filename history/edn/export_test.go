package edn

import "io"

func NewSource(r io.Reader) *Source {
	return &Source{forms: newForms(r, ""), pending: map[string]event{}}
}
