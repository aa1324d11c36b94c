package inject

import (
	"errors"
	"net"
	"os/exec"
	"testing"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/testneeds"
	"github.com/lockbench/lockbench/servers"
)

// A client in another language, unchanged: the release of redis-py's Lock is applied and its reply
// lost. redis-py raises a connection error and has forgotten the token by then, so a second attempt
// is refused although the first one succeeded.
func TestPythonLockLosesReplyOfRelease(t *testing.T) {
	python := pythonWithRedis(t)
	s := newTheatre(t, servers.Spec{Topology: impls.Standalone, Name: "python"}, []faults.Spec{
		// The first write that takes effect is the acquire's SET; the release's script, once it is
		// loaded, is the second.
		{Fault: faults.LoseReply, Client: 1, When: faults.Trigger{Reply: "any *w", Nth: 2}},
	})
	_, port, err := net.SplitHostPort(s.links[0].Addr())
	must(t, err)
	out, err := exec.CommandContext(t.Context(), python, "testdata/lost_release.py", port).CombinedOutput()
	const want = "acquire True\nrelease ConnectionError\nagain LockError\nkey left 0\n"
	if err != nil || string(out) != want {
		t.Errorf("python says %v\n%s\nwant\n%s", err, out, want)
	}
	w := complete(t, s.Director, 1)[0]
	if !w.Confirmed || w.Client != "c1" || w.Moment != "after EVALSHA was applied, before its reply was seen" {
		t.Errorf("window %+v", w)
	}
}

// pythonWithRedis returns a Python that has redis-py: Debian's, or the first on PATH.
func pythonWithRedis(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import redis.lock").Run() == nil {
			return python
		}
	}
	testneeds.Need(t, "python", errors.New("no Python with redis-py: apt install python3-redis"))
	return ""
}
