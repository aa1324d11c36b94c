package main

import (
	"strings"
	"testing"
)

// TestEveryCommandHasExamples: each command shows how it is called, and what it shows names
// commands and flags that exist.
func TestEveryCommandHasExamples(t *testing.T) {
	root := newRoot(&app{world: newWorld("").world, line: &statusLine{}})
	for _, c := range root.Commands() {
		if c.Runnable() && c.Example == "" && c.Name() != "help" && c.Name() != "completion" {
			t.Errorf("%s has no example", c.Name())
		}
		for line := range strings.Lines(c.Example) {
			words := strings.Fields(line)
			if len(words) < 2 || words[0] != "lockbench" || words[1] != c.Name() {
				t.Errorf("%s: the example %q is of something else", c.Name(), strings.TrimSpace(line))
			} else if why := noSuchCommand(root, words[1:]); why != "" {
				t.Errorf("%s: %s", strings.TrimSpace(line), why)
			}
		}
	}
}

// TestHelpFitsAScreen: the help of a command with many flags fits a window of 48 lines and names
// ten; --help-all has the others, in groups.
func TestHelpFitsAScreen(t *testing.T) {
	for name, flags := range needed {
		w := newWorld("")
		w.exits(t, 0, "help", name)
		short := w.out.String()
		if n := strings.Count(short, "\n"); n > 48 {
			t.Errorf("help %s has %d lines", name, n)
		}
		all := newWorld("")
		all.exits(t, 0, name, "--"+helpAll)
		for _, f := range flags {
			if !strings.Contains(short, "--"+f+" ") || !strings.Contains(all.out.String(), "--"+f+" ") {
				t.Errorf("%s: --%s is not in both helps", name, f)
			}
		}
		if strings.Count(all.out.String(), "\n") <= strings.Count(short, "\n") || !strings.Contains(all.out.String(), "\nTLS and passwords:\n") {
			t.Errorf("%s --%s shows no more\n%s", name, helpAll, all.out)
		}
	}
}

// TestWrongInputSaysWhereTheHelpIs: what is wrong with a command line is followed by the help of
// its verb, or by the list of verbs.
func TestWrongInputSaysWhereTheHelpIs(t *testing.T) {
	for line, want := range map[string]string{
		"compare a":          "'lockbench help compare' shows its flags\n",
		"run --duration abc": "'lockbench help run' shows its flags\n",
		"rnu":                "'lockbench help' shows the commands\n",
		"help rnu":           "'lockbench help' shows the commands\n",
	} {
		w := newWorld("")
		if code := w.call(t, strings.Fields(line)...); code != exitUsage || !strings.HasSuffix(w.err.String(), "\n"+want) {
			t.Errorf("%s: exit code %d\n%s", line, code, w.err)
		}
	}
}
