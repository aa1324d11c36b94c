package servers

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"github.com/lockbench/lockbench/internal/foreign"
)

// Access has the credentials for a user's Redis. Those in the URL take precedence. The zero value
// has none.
type Access struct {
	Login func() (user, password string) // nil: from the URL. A function, so that fmt cannot print its result
	CA    *x509.CertPool                 // authorities for rediss:// servers; nil: the system's
	Own   []tls.Certificate              // client certificates for rediss:// servers
}

// ErrNoTLS is returned for a certificate together with a redis:// URL, which has no TLS.
var ErrNoTLS = errors.New("certificates are for rediss:// addresses")

// maxSecret is the limit, in bytes, of a file of certificates or a password.
const maxSecret = 1 << 20

// ReadCA reads CA certificates from a PEM file.
func ReadCA(path string) (*x509.CertPool, error) {
	data, err := foreign.Read(path, maxSecret)
	if err != nil {
		return nil, fmt.Errorf("CA certificate: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("CA certificate %s: no certificate in PEM", path)
	}
	return pool, nil
}

// ReadKeyPair reads a certificate and its key from two PEM files.
func ReadKeyPair(cert, key string) (pair tls.Certificate, err error) {
	var pem [2][]byte
	for i, path := range []string{cert, key} {
		if pem[i], err = foreign.Read(path, maxSecret); err != nil {
			return pair, fmt.Errorf("client certificate: %w", err)
		}
	}
	if pair, err = tls.X509KeyPair(pem[0], pem[1]); err != nil {
		return pair, fmt.Errorf("client certificate %s: %w", cert, err)
	}
	return pair, nil
}

// ReadPassword reads a password from a file: its first line without the newline. Errors do not
// contain it.
func ReadPassword(path string) (string, error) {
	data, err := foreign.Read(path, maxSecret)
	if err != nil {
		return "", fmt.Errorf("password: %w", err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", fmt.Errorf("password: the first line of %s is empty", path)
	}
	return line, nil
}
