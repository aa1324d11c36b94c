package harness

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/verdicts"
)

// The commands of clients' processes pass the proxy on a cluster, too, also to the master that
// takes over: otherwise the cause of the loss would not be seen.
func TestProcessesOnACluster(t *testing.T) {
	t.Parallel()
	out, err := Run(t.Context(), experiment(t, "token", "cluster-failover", provider(t, "process"), Processes))
	must(t, err)
	for _, p := range out.Verdict.Properties {
		if p.Name == verdicts.MutualExclusion && (p.Violations == 0 || p.Causes[verdicts.FailoverLoss] != p.Violations) {
			t.Errorf("mutual-exclusion: %d violations, %v; want %s", p.Violations, p.Causes, verdicts.FailoverLoss)
		}
	}
}

// What sentinels and the masters of a cluster say of addresses leads a child to its own links, in
// every form in which they name them.
func TestRetold(t *testing.T) {
	bulk := func(words ...string) string {
		text := fmt.Sprintf("*%d\r\n", len(words))
		for _, w := range words {
			text += fmt.Sprintf("$%d\r\n%s\r\n", len(w), w)
		}
		return text
	}
	ports := map[string]string{"20001": "7", "20002": "65000"}
	texts := strings.NewReplacer("127.0.0.1:20001", "10.0.0.9:7", "127.0.0.1 20001", "10.0.0.9 7", "127.0.0.1 20002", "10.0.0.9 65000")
	for _, row := range []struct{ about, said, want string }{
		{"the primary", bulk("127.0.0.1", "20001"), bulk("10.0.0.9", "7")},
		{"fields of a server", bulk("name", "127.0.0.1:20001", "ip", "127.0.0.1", "port", "20001"), bulk("name", "10.0.0.9:7", "ip", "10.0.0.9", "port", "7")},
		{"a number that is no port", bulk("last-ok-ping-reply", "20001"), bulk("last-ok-ping-reply", "20001")},
		{"a new primary", bulk("message", "+switch-master", "lockbench 127.0.0.1 20001 127.0.0.1 20002"), bulk("message", "+switch-master", "lockbench 10.0.0.9 7 10.0.0.9 65000")},
		{"CLUSTER SLOTS, with a port in a slot's place", "*1\r\n*3\r\n:0\r\n:20001\r\n*3\r\n$9\r\n127.0.0.1\r\n:20001\r\n$2\r\nid\r\n",
			"*1\r\n*3\r\n:0\r\n:20001\r\n*3\r\n$8\r\n10.0.0.9\r\n:7\r\n$2\r\nid\r\n"},
		{"CLUSTER SHARDS", "*4\r\n$4\r\nport\r\n:20002\r\n$2\r\nip\r\n$9\r\n127.0.0.1\r\n", "*4\r\n$4\r\nport\r\n:65000\r\n$2\r\nip\r\n$8\r\n10.0.0.9\r\n"},
		{"a redirection", "-MOVED 866 127.0.0.1:20001\r\n", "-MOVED 866 10.0.0.9:7\r\n"},
		{"a number that is no port", ":20001\r\n", ":20001\r\n"},
		{"no address", "+PONG\r\n", "+PONG\r\n"},
		{"nothing", "$-1\r\n", "$-1\r\n"},
	} {
		if got := string(retold([]byte(row.said), "127.0.0.1", "10.0.0.9", ports, texts)); got != row.want {
			t.Errorf("%s: %q, want %q", row.about, got, row.want)
		}
	}
}
