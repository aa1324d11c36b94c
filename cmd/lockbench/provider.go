package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/internal/suggest"
	"github.com/lockbench/lockbench/servers"
)

// serverWords are the values of --server besides URLs.
var serverWords = [...]string{"auto", "process", "docker", "sim"}

// serverFlag declares --server. If the default depends on other flags, value is "" and otherwise
// describes it.
func (a *app) serverFlag(c *cobra.Command, word *string, value, otherwise string) {
	c.Flags().StringVar(word, "server", value, strings.Join(serverWords[:], ", ")+", or redis:// URLs separated by commas"+otherwise)
	a.program.register(c)
	a.access.register(c)
}

// providers returns the sources of servers in the order in which auto tries them. The last one is
// always available.
func providers() []servers.Provider {
	return []servers.Provider{
		servers.NewProcess(servers.ProcessOptions{}), servers.NewDocker(servers.DockerOptions{}), &harness.Sim{},
	}
}

// provider returns the provider that --server names, and for auto also why it was chosen.
func (a *app) provider(ctx context.Context, word string, all []servers.Provider) (p servers.Provider, why string, err error) {
	switch {
	case (a.access.cert == "") != (a.access.key == ""):
		return nil, "", fmt.Errorf("%w: --tls-cert and --tls-key need each other: one is missing", errUsage)
	case strings.Contains(word, "://") && a.program.given() != "":
		return nil, "", fmt.Errorf("%w: --%s is for servers that lockbench starts, and not for a Redis that --server gives by URL", errUsage, a.program.given())
	case strings.Contains(word, "://"):
		access, err := a.access.access(a.env)
		if err != nil {
			return nil, "", err
		}
		url, err := servers.NewURL(access, strings.Split(word, ",")...)
		if err != nil {
			return nil, "", asInput(err)
		}
		return url, "", nil
	case a.access.given() != "":
		return nil, "", fmt.Errorf("%w: --%s is for a Redis that --server gives by URL, and not for --server %s", errUsage, a.access.given(), word)
	case a.program.given() != "":
		p, err := a.program.provider(word)
		if err != nil {
			return nil, "", err
		}
		return p, "", p.Available(ctx)
	case word == "auto":
		return automatic(ctx, all)
	}
	for _, p := range all {
		if p.Name() == word {
			return p, "", p.Available(ctx)
		}
	}
	return nil, "", fmt.Errorf("%w: --server %s: must be one of %s, or redis:// URLs separated by commas%s", errUsage, word, strings.Join(serverWords[:], ", "), suggest.Hint(word, serverWords[:]))
}

// automatic returns the first available provider.
func automatic(ctx context.Context, all []servers.Provider) (servers.Provider, string, error) {
	var missing []error
	for _, p := range all {
		err := p.Available(ctx)
		if err == nil && len(missing) == 0 {
			return p, p.Name() + " is the first choice and is there", nil
		}
		if err == nil {
			return p, strings.ReplaceAll(errors.Join(missing...).Error(), "\n", "; "), nil
		}
		missing = append(missing, fmt.Errorf("%s: %w", p.Name(), err))
	}
	return nil, "", errors.Join(missing...)
}

func (a *app) announce(p servers.Provider, why string) {
	if why != "" {
		a.say("server: %s (%s)", p.Name(), why)
	}
	if harness.Simulates(p) {
		a.say("virtual time: no latency figures")
	}
}

// programFlags name the server that lockbench starts: another make or version of Redis than the
// machine's own.
type programFlags struct{ binary, image string }

func (f *programFlags) register(c *cobra.Command) {
	s := c.Flags()
	s.StringVar(&f.binary, "binary", "", "program to start for --server process, such as valkey-server; a path, or a name on PATH (default redis-server)")
	s.StringVar(&f.image, "image", "", "image to start for --server docker; it must have redis-server (default "+servers.ImageEnv+", or else redis:7.4)")
	c.MarkFlagsMutuallyExclusive("binary", "image")
}

// given names the flag that was given; "" for none.
func (f programFlags) given() string {
	switch {
	case f.binary != "":
		return "binary"
	case f.image != "":
		return "image"
	}
	return ""
}

// words returns the flag that was given, and its value.
func (f programFlags) words() []string {
	if f.given() == "" {
		return nil
	}
	return []string{"--" + f.given(), f.binary + f.image}
}

// provider returns the provider that starts the program; auto is whichever it is for.
func (f programFlags) provider(word string) (servers.Provider, error) {
	var p servers.Provider = servers.NewProcess(servers.ProcessOptions{Binary: f.binary})
	if f.image != "" {
		p = servers.NewDocker(servers.DockerOptions{Image: f.image})
	}
	if word != "auto" && word != p.Name() {
		return nil, fmt.Errorf("%w: --%s is for --server %s, and not for --server %s", errUsage, f.given(), p.Name(), word)
	}
	return p, nil
}

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
}

// given names a flag that was given; "" for none.
func (f accessFlags) given() string {
	switch {
	case f.passwordFile != "":
		return "password-file"
	case f.ca != "":
		return "tls-ca"
	case f.cert != "":
		return "tls-cert"
	}
	return ""
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
		pair, err := servers.ReadKeyPair(f.cert, f.key)
		if err != nil {
			return a, asInput(err)
		}
		a.Own = []tls.Certificate{pair}
	}
	return a, nil
}
