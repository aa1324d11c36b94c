package servers

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Access is what opens somebody's Redis, beside its URL. What a URL says itself goes first. The zero value adds nothing.
type Access struct {
	Login func() (user, password string) // nil: as the URL says. A function, because fmt cannot print what it returns
	CA    *x509.CertPool                 // whom a rediss:// server's certificate must come from; nil: whom the system trusts
	Own   []tls.Certificate              // shown to a rediss:// server that asks for one
}

// ErrNoTLS: a certificate is given for a server whose URL says that it has no TLS.
var ErrNoTLS = errors.New("certificates are for rediss:// addresses")

// open adds to a target what its URL leaves open.
func (a Access) open(t target) (target, error) {
	if t.tls == nil && (a.CA != nil || len(a.Own) > 0) {
		return t, fmt.Errorf("%s: %w", t, ErrNoTLS)
	}
	if t.tls != nil {
		t.tls.RootCAs, t.tls.Certificates = a.CA, a.Own
	}
	if _, password := t.login(); password == "" && a.Login != nil {
		t.login = a.Login
	}
	return t, nil
}

// ReadCA reads certificates of authorities in PEM.
func ReadCA(path string) (*x509.CertPool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("CA certificate: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("CA certificate %s: no certificate in PEM", path)
	}
	return pool, nil
}

// ReadPassword reads a password from a file: its first line, without the end of the line. The error does not show what was read.
func ReadPassword(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("password: %w", err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", fmt.Errorf("password: the first line of %s is empty", path)
	}
	return line, nil
}
