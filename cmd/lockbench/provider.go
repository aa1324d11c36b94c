package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/internal/foreign"
	"github.com/lockbench/lockbench/servers"
)

// serverWords are the values of --server besides URLs.
var serverWords = [...]string{"auto", "process", "docker", "sim"}

// serverFlag declares --server, and what says how to reach or to start one. If the default depends
// on other flags, value is "" and otherwise describes it.
func (a *app) serverFlag(c *cobra.Command, word *string, value, otherwise string) {
	s := c.Flags()
	s.StringVar(word, "server", value, strings.Join(serverWords[:], ", ")+", or redis:// URLs separated by commas"+otherwise)
	s.StringVar(&a.program.binary, "binary", "", "program to start for --server process, such as valkey-server; a path, or a name on PATH (default redis-server)")
	s.StringVar(&a.program.image, "image", "", "image to start for --server docker; it must have redis-server (default "+servers.ImageEnv+", or else redis:7.4)")
	c.MarkFlagsMutuallyExclusive("binary", "image")
	s.StringVar(&a.access.passwordFile, "password-file", "", "file whose first line is the password for a redis:// URL without one; or set "+passwordVariable+", and "+userVariable+" for a user")
	s.StringVar(&a.access.ca, "tls-ca", "", "file of the authority that signed a rediss:// server's certificate, in PEM (default: the system's)")
	s.StringVar(&a.access.cert, "tls-cert", "", "file of the certificate to show to a rediss:// server, in PEM; with --tls-key")
	s.StringVar(&a.access.key, "tls-key", "", "file of the certificate's key, in PEM")
}

// providers returns the sources of servers in the order in which auto tries them. The last one is
// always available.
func providers() []servers.Provider {
	return []servers.Provider{servers.NewProcess(servers.ProcessOptions{}), servers.NewDocker(servers.DockerOptions{}), &harness.Sim{}}
}

// provider returns the provider that --server names, and for auto also why it was chosen, and says
// so. real leaves the simulator out.
func (a *app) provider(ctx context.Context, word string, real bool) (p servers.Provider, why string, err error) {
	all := a.providers()
	if real {
		all = slices.DeleteFunc(all, harness.Simulates)
	}
	program, access := a.program.given(), a.access.given()
	switch {
	case (a.access.cert == "") != (a.access.key == ""):
		return nil, "", fmt.Errorf("%w: --tls-cert and --tls-key need each other: one is missing", errUsage)
	case strings.Contains(word, "://") && program != "":
		return nil, "", fmt.Errorf("%w: --%s is for servers that lockbench starts, and not for a Redis that --server gives by URL", errUsage, program)
	case strings.Contains(word, "://"):
		login, err := a.access.access(a.env)
		if err != nil {
			return nil, "", err
		}
		url, err := servers.NewURL(login, strings.Split(word, ",")...)
		if err != nil {
			return nil, "", asInput(err)
		}
		return url, "", nil
	case access != "":
		return nil, "", fmt.Errorf("%w: --%s is for a Redis that --server gives by URL, and not for --server %s", errUsage, access, word)
	case program != "":
		p = servers.NewProcess(servers.ProcessOptions{Binary: a.program.binary})
		if program == "image" {
			p = servers.NewDocker(servers.DockerOptions{Image: a.program.image})
		}
		if word != "auto" && word != p.Name() { // auto is whichever it is for
			return nil, "", fmt.Errorf("%w: --%s is for --server %s, and not for --server %s", errUsage, program, p.Name(), word)
		}
		return p, "", p.Available(ctx)
	case word == "auto":
		if p, why, err = automatic(ctx, all); err == nil {
			a.say("server: %s (%s)", p.Name(), why)
		}
	default:
		i := slices.IndexFunc(all, func(p servers.Provider) bool { return p.Name() == word })
		if i < 0 {
			return nil, "", fmt.Errorf("%w: --server %s: must be one of %s, or redis:// URLs separated by commas%s", errUsage, word, strings.Join(serverWords[:], ", "), foreign.Hint(word, serverWords[:]))
		}
		p, err = all[i], all[i].Available(ctx)
	}
	if err == nil && harness.Simulates(p) {
		a.say("virtual time: no latency figures")
	}
	return p, why, err
}

// experiment has what every run on a provider's servers has in common; base is the folder of runs.
func (a *app) experiment(p servers.Provider, why, base string) harness.Experiment {
	return harness.Experiment{Provider: p, Chosen: why, Base: base, Argv: a.argv, Now: a.now, Random: a.random, Checkout: "."}
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

// programFlags name the server that lockbench starts: another make or version of Redis than the
// machine's own.
type programFlags struct{ binary, image string }

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

// accessFlags are the credentials for a Redis that --server gives by URL.
type accessFlags struct{ passwordFile, ca, cert, key string }

// The environment variables of a login. Everybody on a machine can see a URL on a command line.
const (
	userVariable     = "LOCKBENCH_REDIS_USER"
	passwordVariable = "LOCKBENCH_REDIS_PASSWORD"
)

// given names a flag that was given; "" for none.
func (f accessFlags) given() string {
	for _, flag := range [][2]string{{"password-file", f.passwordFile}, {"tls-ca", f.ca}, {"tls-cert", f.cert}} {
		if flag[1] != "" {
			return flag[0]
		}
	}
	return ""
}

// access reads what the flags and the environment name.
func (f accessFlags) access(env func(string) string) (a servers.Access, err error) {
	user, password := env(userVariable), env(passwordVariable)
	if f.passwordFile != "" {
		password, err = servers.ReadPassword(f.passwordFile)
	}
	if password != "" {
		a.Login = func() (string, string) { return user, password }
	}
	if f.ca != "" && err == nil {
		a.CA, err = servers.ReadCA(f.ca)
	}
	if f.cert != "" && err == nil {
		pair, pairErr := servers.ReadKeyPair(f.cert, f.key)
		a.Own, err = []tls.Certificate{pair}, pairErr
	}
	if err != nil {
		err = asInput(err)
	}
	return a, err
}
