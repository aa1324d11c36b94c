package main

import (
	"strings"
	"testing"
)

// TestHelpFitsAScreen: the help of a command with many flags fits a window of 48 lines and names ten;
// --help-all has the others, in groups.
func TestHelpFitsAScreen(t *testing.T) {
	for name, flags := range needed {
		w := newWorld("")
		if got := w.call(t, "help", name); got != 0 {
			t.Fatalf("help %s: exit code %d\n%s", name, got, w.err)
		}
		short := w.out.String()
		if n := strings.Count(short, "\n"); n > 48 {
			t.Errorf("help %s has %d lines", name, n)
		}
		all := newWorld("")
		if got := all.call(t, name, "--"+helpAll); got != 0 {
			t.Errorf("%s --%s: exit code %d\n%s", name, helpAll, got, all.err)
		}
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
