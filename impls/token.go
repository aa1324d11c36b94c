package impls

import (
	"encoding/hex"
	"fmt"
	"io"
)

// TokenBytes is the size of a token before it is written in hexadecimal: the 20 bytes of the Redis documentation's
// lock pattern.
const TokenBytes = 20

// NewToken draws a token that is unique among all clients and all grants.
func NewToken(r io.Reader) (string, error) {
	var b [TokenBytes]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}
