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
	s.StringVar(&a.reach.binary, "binary", "", "program to start for --server process, such as valkey-server; a path, or a name on PATH (default redis-server)")
	s.StringVar(&a.reach.image, "image", "", "image to start for --server docker; it must have redis-server (default "+servers.ImageEnv+", or else redis:7.4)")
	c.MarkFlagsMutuallyExclusive("binary", "image")
	s.StringVar(&a.reach.passwordFile, "password-file", "", "file whose first line is the password for a redis:// URL without one; or set "+passwordVariable+", and "+userVariable+" for a user")
	s.StringVar(&a.reach.ca, "tls-ca", "", "file of the authority that signed a rediss:// server's certificate, in PEM (default: the system's)")
	s.StringVar(&a.reach.cert, "tls-cert", "", "file of the certificate to show to a rediss:// server, in PEM; with --tls-key")
	s.StringVar(&a.reach.key, "tls-key", "", "file of the certificate's key, in PEM")
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
	program, access := a.reach.program(), ""
	for _, flag := range [][2]string{{"password-file", a.reach.passwordFile}, {"tls-ca", a.reach.ca}, {"tls-cert", a.reach.cert}} {
		if access == "" && flag[1] != "" {
			access = flag[0]
		}
	}
	switch {
	case (a.reach.cert == "") != (a.reach.key == ""):
		return nil, "", fmt.Errorf("%w: --tls-cert and --tls-key need each other: one is missing", errUsage)
	case strings.Contains(word, "://") && program != "":
		return nil, "", fmt.Errorf("%w: --%s is for servers that lockbench starts, and not for a Redis that --server gives by URL", errUsage, program)
	case strings.Contains(word, "://"):
		login, err := a.reach.access(a.env)
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
		p = servers.NewProcess(servers.ProcessOptions{Binary: a.reach.binary})
		if program == "image" {
			p = servers.NewDocker(servers.DockerOptions{Image: a.reach.image})
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

// serverFlags are the flags of --server.
type serverFlags struct {
	binary, image               string // of the server that lockbench starts, in place of the machine's own Redis
	passwordFile, ca, cert, key string // for a Redis that --server gives by URL
}

// program names the flag of the server to start that was given; "" for none.
func (f serverFlags) program() string {
	switch {
	case f.binary != "":
		return "binary"
	case f.image != "":
		return "image"
	}
	return ""
}

// The environment variables of a login. Everybody on a machine can see a URL on a command line.
const (
	userVariable     = "LOCKBENCH_REDIS_USER"
	passwordVariable = "LOCKBENCH_REDIS_PASSWORD"
)

// access reads what the flags and the environment name.
func (f serverFlags) access(env func(string) string) (a servers.Access, err error) {
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
