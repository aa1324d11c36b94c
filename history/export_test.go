package history

import "io"

func ReadWindows(r io.Reader) (out []Window, err error) {
	_, err = readSidecar(r, "", faultsSchema, unbounded, &struct{}{}, windowLines(&out))
	return out, err
}

// AppendCommand appends the command as one line of the commands schema, newline included.
func AppendCommand(b []byte, c *Command) []byte { return appendTagged(b, c) }
