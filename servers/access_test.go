package servers_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

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
	dir := t.TempDir()
	ca := newAuthority(t, dir)
	front := tlsFront(t, ca, start(t, p, alone).Addr(0))
	pool, err := servers.ReadCA(filepath.Join(dir, "ca.pem"))
	must(t, err)
	own := []tls.Certificate{ca.issue(t)}
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

// authority signs certificates.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

// newAuthority writes its certificate to ca.pem.
func newAuthority(t *testing.T, dir string) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	form := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	must(t, err)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "ca.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return authority{key, cert}
}

// issue makes a certificate for 127.0.0.1, good for a server and for a client.
func (a authority) issue(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	form := &x509.Certificate{SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, form, a.cert, &key.PublicKey, a.key)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// tlsFront is a TLS proxy for a server without TLS, which requests a client certificate of the
// authority.
func tlsFront(t *testing.T, ca authority, behind string) string {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{ca.issue(t)}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert})
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
	return l.Addr().String()
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
