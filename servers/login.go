package servers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/internal/resp"
)

// dial returns a connection that is logged in, so that lock clients, proxies and child processes
// need not know the password.
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

// exchange sends a command, whose reply must be OK. Of an error reply only the first word is shown:
// the rest may repeat arguments.
func exchange(conn net.Conn, words ...string) error {
	line, err := resp.Ask(conn, words...)
	if err != nil {
		return fmt.Errorf("%s: %w", words[0], err)
	}
	if !strings.HasPrefix(line, "+OK") {
		code, _, _ := strings.Cut(strings.TrimPrefix(line, "-"), " ")
		return fmt.Errorf("%s refused by the server (%s)", words[0], code)
	}
	return nil
}
