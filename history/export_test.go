package history

import "io"

var (
	AppendHeader  = appendHeader
	AppendCommand = appendCommand
)

func ReadWindows(r io.Reader) (out []Window, err error) {
	err = readSidecar(r, "", faultsSchema, collectWindows(&out))
	return out, err
}
