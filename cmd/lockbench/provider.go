package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/internal/suggest"
	"github.com/lockbench/lockbench/servers"
)

// serverWords are the values of --server besides URLs.
var serverWords = [...]string{"auto", "process", "docker", "miniredis", "sim"}

// serverFlag declares --server. If the default depends on other flags, value is "" and otherwise describes it.
func (a *app) serverFlag(c *cobra.Command, word *string, value, otherwise string) {
	c.Flags().StringVar(word, "server", value, strings.Join(serverWords[:], ", ")+", or redis:// URLs separated by commas"+otherwise)
	complete(c, "server", words(serverWords[:]...))
	a.access.register(c)
}

// providers returns the sources of servers in the order in which auto tries them. The last one is always available.
func providers() []servers.Provider {
	return []servers.Provider{
		servers.NewProcess(servers.ProcessOptions{}), servers.NewDocker(servers.DockerOptions{}), &harness.Sim{},
	}
}

// provider returns the provider that --server names, and for auto also why it was chosen.
func (a *app) provider(ctx context.Context, word string, all []servers.Provider) (p servers.Provider, why string, err error) {
	switch {
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
	case word == "auto":
		return automatic(ctx, all)
	case word == "miniredis":
		return servers.Miniredis{}, "", nil
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
	if p.Name() == "sim" {
		a.say("virtual time: no latency figures")
	}
	if p.Name() == "miniredis" {
		a.say("miniredis is not Redis: verdicts are about the lock's own code, and there are no latency figures")
	}
}
