package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/expect"
	"github.com/lockbench/lockbench/subject"
)

// execFlags name a command that is the lock, in place of a lock of the catalogue.
type execFlags struct{ fleet subject.Fleet }

func (f *execFlags) register(s *pflag.FlagSet) {
	s.StringVar(&f.fleet.Exec, "exec", "", "a command to test in place of a lock of the catalogue; each client is a process of it; see docs/your-lock.md")
	s.StringVar(&f.fleet.Launch, "launch", "", "a command that starts --exec elsewhere: 'ssh {host}', 'docker exec -i {container}'")
	s.StringSliceVar(&f.fleet.Hosts, "hosts", nil, "values for the word in braces of --launch, one client after the other")
	s.StringVar(&f.fleet.Listen, "listen", "", "address of this machine that processes started elsewhere can reach (default 127.0.0.1)")
}

func (f execFlags) given() bool { return f.fleet.Exec != "" }

// check finds flags that contradict each other. named is the flag that --exec replaces, "lock", or
// "" if it replaces none.
func (f execFlags) check(flags *pflag.FlagSet, named string) error {
	braces := subject.HasPlaceholder(f.fleet.Launch)
	switch {
	case !f.given() && (f.fleet.Launch != "" || len(f.fleet.Hosts) > 0 || f.fleet.Listen != ""):
		return fmt.Errorf("%w: --launch, --hosts and --listen are for the command of --exec, which is missing", errUsage)
	case f.given() && named != "" && flags.Changed(named):
		return fmt.Errorf("%w: --exec takes the place of --%s: give one of them", errUsage, named)
	case braces && len(f.fleet.Hosts) == 0:
		return fmt.Errorf("%w: --launch %q: --hosts is missing, to take the place of the braces", errUsage, f.fleet.Launch)
	case !braces && len(f.fleet.Hosts) > 0:
		return fmt.Errorf("%w: --hosts: --launch has no word in braces, such as {host}, that they could take the place of", errUsage)
	}
	return nil
}

// lock returns the named lock, or the variant that the command describes, which is started once.
func (f *execFlags) lock(ctx context.Context, name string) (impls.Variant, error) {
	if f.given() {
		return f.probe(ctx)
	}
	return variant(name)
}

func (f *execFlags) probe(ctx context.Context) (impls.Variant, error) {
	v, err := f.fleet.Probe(ctx)
	if err == nil {
		v.Expect = expect.Foreign(v)
	}
	return v, err
}

// server returns the provider's name. A process cannot use the simulator, so "auto" replaces it as
// default.
func (f execFlags) server(word string, flags *pflag.FlagSet) (string, error) {
	switch {
	case !f.given():
	case !flags.Changed("server"):
		return "auto", nil
	case word == "sim":
		return "", fmt.Errorf("%w: --exec with --server sim: a process needs real time; use process, docker or a redis:// URL", errUsage)
	}
	return word, nil
}

// words returns the flags as given.
func (f execFlags) words() (words []string) {
	for _, flag := range [...][2]string{{"--exec", f.fleet.Exec}, {"--launch", f.fleet.Launch}, {"--hosts", strings.Join(f.fleet.Hosts, ",")}, {"--listen", f.fleet.Listen}} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	return words
}
