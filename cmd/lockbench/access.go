package main

import (
	"crypto/tls"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/servers"
)

// accessFlags are the credentials for a Redis that --server gives by URL.
type accessFlags struct{ passwordFile, ca, cert, key string }

// The environment variables of a login. Everybody on a machine can see a URL on a command line.
const (
	userVariable     = "LOCKBENCH_REDIS_USER"
	passwordVariable = "LOCKBENCH_REDIS_PASSWORD"
)

func (f *accessFlags) register(c *cobra.Command) {
	s := c.Flags()
	s.StringVar(&f.passwordFile, "password-file", "", "file whose first line is the password for a redis:// URL without one; or set "+passwordVariable+", and "+userVariable+" for a user")
	s.StringVar(&f.ca, "tls-ca", "", "file of the authority that signed a rediss:// server's certificate, in PEM (default: the system's)")
	s.StringVar(&f.cert, "tls-cert", "", "file of the certificate to show to a rediss:// server, in PEM; with --tls-key")
	s.StringVar(&f.key, "tls-key", "", "file of the certificate's key, in PEM")
	allOfFlags(c, "tls-cert", "tls-key")
}

// access reads what the flags and the environment name.
func (f accessFlags) access(env func(string) string) (a servers.Access, err error) {
	user, password := env(userVariable), env(passwordVariable)
	if f.passwordFile != "" {
		if password, err = servers.ReadPassword(f.passwordFile); err != nil {
			return a, asInput(err)
		}
	}
	if password != "" {
		a.Login = func() (string, string) { return user, password }
	}
	if f.ca != "" {
		if a.CA, err = servers.ReadCA(f.ca); err != nil {
			return a, asInput(err)
		}
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return a, asInput(fmt.Errorf("client certificate: %w", err))
		}
		a.Own = []tls.Certificate{pair}
	}
	return a, nil
}
