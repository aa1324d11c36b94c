package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/servers"
)

// rerun returns the command that repeats a run: the given flags, the server used, the seed.
func rerun(flags *pflag.FlagSet, verb string, p servers.Provider, seed uint64) string {
	if p.Guest() {
		return again(flags, verb, "", seed)
	}
	return again(flags, verb, p.Name(), seed)
}

// again is rerun with the name of the server; "" keeps the flag as given.
func again(flags *pflag.FlagSet, verb, server string, seed uint64) string {
	except := []string{"seed"}
	if verb == "run" { // each repetition has a seed of its own
		except = append(except, "reps")
	}
	if server != "" {
		except = append(except, "server")
	}
	words := append([]string{"lockbench", verb}, givenFlags(flags, except...)...)
	if server != "" {
		words = append(words, "--server", server)
	}
	return results.CommandLine(append(words, "--seed", strconv.FormatUint(seed, 10)))
}

// givenFlags returns the flags that were given, as words, but not those that say where and how
// results are kept and shown: to run again replaces no file.
func givenFlags(flags *pflag.FlagSet, except ...string) (words []string) {
	except = append(except, "out", "output", "quiet", "keep-all", "metrics-addr", "store")
	flags.Visit(func(flag *pflag.Flag) {
		switch {
		case slices.Contains(except, flag.Name):
			return
		case flag.Value.Type() == "bool": // its value would be taken for an argument
			words = append(words, strings.TrimSuffix("--"+flag.Name+"="+flag.Value.String(), "=true"))
			return
		}
		for _, v := range values(flag) {
			words = append(words, "--"+flag.Name, v)
		}
	})
	return words
}

// values returns the values of a flag, one for each time it is given. A list is one value, except
// for flags that are repeated.
func values(flag *pflag.Flag) []string {
	list, ok := flag.Value.(pflag.SliceValue)
	switch {
	case !ok:
		return []string{flag.Value.String()}
	case flag.Value.Type() != "stringArray":
		return []string{strings.Join(list.GetSlice(), ",")}
	}
	return list.GetSlice()
}
