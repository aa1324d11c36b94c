package edn

import "io"

func NewSource(r io.Reader) *Source { return newSource(r, "") }
