package inject

import (
	"testing"

	"github.com/lockbench/lockbench/internal/testneeds"
	"github.com/lockbench/lockbench/servers"
)

// startServer starts redis-server processes and closes them with the test. Without redis-server the
// test is skipped, unless LOCKBENCH_REQUIRE names process.
func startServer(tb testing.TB, spec servers.Spec) servers.Deployment {
	tb.Helper()
	p := servers.NewProcess(servers.ProcessOptions{})
	testneeds.Need(tb, p.Name(), p.Available(tb.Context()))
	d, err := p.Start(tb.Context(), spec)
	must(tb, err)
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return d
}
