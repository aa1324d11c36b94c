package servers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/internal/resp"
)

// maxReplyLine bounds the reply to AUTH and SELECT, which is one line.
const maxReplyLine = 512

// dial returns a connection that is logged in, so that lock clients, proxies and child processes need not know the password.
func (t target) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	conn, err := t.connect(ctx)
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	err = errors.Join(conn.SetDeadline(deadline), t.enter(conn), conn.SetDeadline(time.Time{}))
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (t target) connect(ctx context.Context) (net.Conn, error) {
	if t.tls != nil {
		d := tls.Dialer{Config: t.tls}
		return d.DialContext(ctx, "tcp", t.addr)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", t.addr)
}

func (t target) enter(conn net.Conn) error {
	if user, password := t.login(); password != "" {
		words := []string{"AUTH", password}
		if user != "" {
			words = []string{"AUTH", user, password}
		}
		if err := exchange(conn, words...); err != nil {
			return err
		}
	}
	if t.database != 0 {
		return exchange(conn, "SELECT", strconv.Itoa(t.database))
	}
	return nil
}

// exchange sends a command and reads exactly its one-line reply. Of an error reply only the first word is shown: the rest may repeat arguments.
func exchange(conn net.Conn, words ...string) error {
	if _, err := conn.Write(resp.AppendRequest(nil, words...)); err != nil {
		return fmt.Errorf("%s: %w", words[0], err)
	}
	line, err := readLine(conn)
	if err != nil {
		return fmt.Errorf("%s: %w", words[0], err)
	}
	if !strings.HasPrefix(line, "+OK") {
		code, _, _ := strings.Cut(strings.TrimPrefix(line, "-"), " ")
		return fmt.Errorf("%s refused by the server (%s)", words[0], code)
	}
	return nil
}

func readLine(conn net.Conn) (string, error) {
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
