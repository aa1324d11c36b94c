package scenarios

import (
	"strings"
	"testing"
)

// Each row is a fault that contradicts itself or its scenario, and its error. Without the error it
// would run and never act.
func TestInvalidFaults(t *testing.T) {
	const head = "name: mine\nabout: for tests\nworkload: counter\nclients: 2\nops: 3\nlease: 300ms\n"
	for _, tt := range []struct{ name, top, fault, want string }{
		// A fault of a message needs a trigger of that kind.
		{"a lost request without a trigger", "", "{fault: lose-request}", "8:3: faults.0.when: lose-request needs request: the request that is lost or held\n  8 | - {fault: lose-request}\n    |   ^"},
		{"a lost request after a reply", "", "{fault: lose-request, when: {reply: acquire}}", "8:31: lose-request needs request: the request that is lost or held\n"},
		{"a lost reply before a request", "", "{fault: lose-reply, when: {request: acquire}}", "8:29: lose-reply needs reply"},
		{"a lost reply at a moment", "", "{fault: lose-reply, when: {moment: entered}}", "8:29: lose-reply needs reply"},
		{"a delay at a time", "", "{fault: delay-request, when: {after: 1s}, for: 1s}", "8:32: delay-request needs request"},
		{"a delay after a request", "", "{fault: delay-reply, when: {request: acquire}, for: 1s}", "8:30: delay-reply needs reply"},
		// When it acts.
		{"slow work at a time", "", "{fault: slow-work, when: {after: 1s}, for: 1s}", "8:28: slow-work is triggered at the start, a moment, not at a time"},
		{"a clock that is skewed later", "", "{fault: skew-client, when: {moment: entered}, by: 1s}", "8:30: skew-client can only act from the start"},
		{"a crash without a moment", "", "{fault: crash-client}", "8:3: faults.0.when: crash-client needs one of moment, request, reply, after and within"},
		// How long it lasts, and its size.
		{"until without a length", "", "{fault: pause-client, when: {moment: entered}, until: other-entered}", "8:3: faults.0.for: pause-client needs it"},
		{"a length of a crash", "", "{fault: crash-client, when: {moment: entered}, for: 1s}", "8:55: crash-client does not use it"},
		{"until of a server's fault", "", "{fault: kill-server, when: {moment: entered}, for: 1s, until: other-entered}", "8:65: kill-server does not use it"},
		{"an unknown until", "", "{fault: pause-client, when: {moment: entered}, for: 1s, until: other-enterd}", "8:66: unknown until \"other-enterd\"; did you mean \"other-entered\"?"},
		{"a delay that is negative", "", "{fault: slow-network, by: -1ms}", "8:29: must not be negative"},
		{"a clock that stands still", "", "{fault: drift-clock, rate: 0.001}", "8:30: must be between 0.01 and 100"},
		{"a jump without a size", "", "{fault: jump-clock, when: {moment: entered}}", "8:3: faults.0.by: jump-clock needs it"},
		// How often.
		{"the third of an instant", "", "{fault: kill-server, when: {after: 1s, nth: 3}}", "8:47: there is no moment, request or reply to count"},
		{"a second start", "", "{fault: slow-network, by: 1ms, times: 2}", "8:41: slow-network acts from the start, which happens once"},
		{"a second failover of a pair", "topology: replicated\n", "{fault: failover, when: {moment: entered}, times: 2}", "9:53: a pair fails over once"},
		// Which client or node.
		{"another client of one", "clients: 1\n", "{fault: pause-client, when: {moment: entered}, for: 1s, until: other-entered}", "8:66: there is no other client"},
		{"a node beyond a single server", "topology: standalone\n", "{fault: kill-server, node: 2, when: {after: 1s}}", "9:30: must be between 0 and 1"},
		{"a node beyond the pair", "topology: replicated\n", "{fault: pause-server, node: 3, when: {after: 1s}, for: 1s}", "9:31: must be between 0 and 2"},
		{"a node beyond three masters", "topology: independent\nnodes: 3\n", "{fault: kill-server, node: 4, when: {after: 1s}}", "10:30: must be between 0 and 3"},
		{"a failover without a replica", "topology: standalone\n", "{fault: failover}", "9:11: failover on topology standalone: there is no replica to promote"},
		{"a client of a network fault", "", "{fault: slow-network, client: 1, by: 1ms}", "8:33: slow-network does not act on one client"},
		{"a node of a client's fault", "", "{fault: pause-client, node: 1, when: {moment: entered}, for: 1s}", "8:31: pause-client does not act on a node"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := head + tt.top + "faults:\n- " + tt.fault + "\n"
			if strings.HasPrefix(tt.top, "clients") {
				src = strings.Replace(head, "clients: 2\n", tt.top, 1) + "faults:\n- " + tt.fault + "\n"
			}
			_, err := Parse("f.yaml", []byte(src))
			if err == nil || !strings.HasPrefix(err.Error(), "f.yaml:"+tt.want) {
				t.Errorf("got\n%v\nwant\nf.yaml:%s", err, tt.want)
			}
		})
	}
}
