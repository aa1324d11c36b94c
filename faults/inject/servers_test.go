package inject

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/servers"
)

// startServer starts redis-server processes and closes them with the test. Without redis-server the test is skipped, unless LOCKBENCH_REQUIRE names
// process.
func startServer(tb testing.TB, spec servers.Spec) servers.Deployment {
	tb.Helper()
	p := servers.NewProcess(servers.ProcessOptions{})
	if err := p.Available(tb.Context()); err != nil {
		missing(tb, "process", err.Error())
	}
	d, err := p.Start(tb.Context(), spec)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return d
}

// missing skips a test, or fails it where LOCKBENCH_REQUIRE names what is missing.
func missing(tb testing.TB, what, why string) {
	tb.Helper()
	if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), what) {
		tb.Fatal(why)
	}
	tb.Skip(why)
}
