package resp

import (
	"fmt"
	"io"
	"strings"
)

// maxReplyLine bounds a reply of one line.
const maxReplyLine = 512

// Ask sends a request and reads exactly its reply, which must be one line, on a connection that
// nobody else uses yet.
func Ask(conn io.ReadWriter, words ...string) (reply string, err error) {
	if _, err := conn.Write(AppendRequest(nil, words...)); err != nil {
		return "", err
	}
	var line []byte
	for one := make([]byte, 1); len(line) < maxReplyLine; line = append(line, one[0]) {
		if _, err := io.ReadFull(conn, one); err != nil {
			return "", err
		}
		if one[0] == '\n' {
			return strings.TrimSuffix(string(line), "\r"), nil
		}
	}
	return "", fmt.Errorf("reply is longer than %d bytes", maxReplyLine)
}
