package servers_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lockbench/lockbench/servers"
)

// A login outside the URL opens the server; one in the URL takes precedence.
func TestAccessLogsIn(t *testing.T) {
	t.Parallel()
	addr, _ := ownedServer(t)
	login := func(user, password string) servers.Access {
		return servers.Access{Login: func() (string, string) { return user, password }}
	}
	for _, row := range []struct {
		about  string
		access servers.Access
		url    string
		want   error
	}{
		{"a password alone", login("", secret), "redis://" + addr, nil},
		{"a user and a password", login("guest", secret), "redis://" + addr, nil},
		{"none", servers.Access{}, "redis://" + addr, servers.ErrMissing},
		{"a wrong password", login("", "other"), "redis://" + addr, servers.ErrMissing},
		{"the URL's takes precedence", login("", "other"), "redis://:" + secret + "@" + addr, nil},
	} {
		u, err := servers.NewURL(row.access, row.url)
		must(t, err)
		wantErr(t, row.about, u.Available(t.Context()), row.want)
	}
}

// A rediss:// server is verified with the given authority, and receives a client certificate on
// request.
func TestAccessTLS(t *testing.T) {
	t.Parallel()
	p := servers.NewProcess(servers.ProcessOptions{})
	need(t, p)
	front, cert := tlsFront(t, start(t, p, alone).Addr(0))
	file := filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}), 0o600))
	pool, err := servers.ReadCA(file)
	must(t, err)
	own := []tls.Certificate{cert}
	for _, row := range []struct {
		about  string
		access servers.Access
		want   error
	}{
		{"its authority and a certificate", servers.Access{CA: pool, Own: own}, nil},
		{"an unknown authority", servers.Access{Own: own}, servers.ErrMissing},
		{"no client certificate", servers.Access{CA: pool}, servers.ErrMissing},
	} {
		u, err := servers.NewURL(row.access, "rediss://"+front)
		must(t, err)
		wantErr(t, row.about, u.Available(t.Context()), row.want)
	}
	plain, err := servers.NewURL(servers.Access{}, "redis://"+front)
	must(t, err)
	if err := plain.Available(t.Context()); err == nil || !strings.Contains(err.Error(), "rediss://") {
		t.Errorf("without TLS: %v, want a hint at rediss://", err)
	}
	_, err = servers.NewURL(servers.Access{CA: pool}, "redis://"+front)
	wantErr(t, "an authority for an address without TLS", err, servers.ErrNoTLS)
}

// Errors name files that cannot be read, and do not show their contents.
func TestReadAccess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for text, want := range map[string]string{secret: secret, secret + "\n": secret, secret + "\r\nmore": secret} {
		if got, err := servers.ReadPassword(file("password", text)); err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, err := range []error{
		second(servers.ReadPassword(file("empty", "\n"+secret))), second(servers.ReadPassword(filepath.Join(dir, "none"))),
		second(servers.ReadCA(file("no.pem", secret))), second(servers.ReadCA(filepath.Join(dir, "none"))),
	} {
		if err == nil || !strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), secret) {
			t.Errorf("%v: want the file's name and none of its content", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// tlsFront is a TLS proxy for a server without TLS. own is its certificate, which has signed itself,
// and which it wants of its clients.
func tlsFront(t *testing.T, behind string) (addr string, own tls.Certificate) {
	t.Helper()
	source := httptest.NewTLSServer(nil)
	source.Close()
	own = source.TLS.Certificates[0]
	same := func(raw [][]byte, _ [][]*x509.Certificate) error {
		if !bytes.Equal(raw[0], own.Certificate[0]) {
			return errors.New("another certificate")
		}
		return nil
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAnyClientCert, VerifyPeerCertificate: same})
	must(t, err)
	var serving sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { join(conn, behind) })
		}
	})
	return l.Addr().String(), own
}

// join copies between a connection and a server until either ends.
func join(conn net.Conn, addr string) {
	defer conn.Close()
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(conn, server)
		_ = conn.Close()
	})
	_, _ = io.Copy(server, conn)
	_ = server.Close()
	back.Wait()
}
