package checker_test

import (
	"fmt"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
)

// TestErrorsMakeARunInconclusive: more than a tenth of the acquires failed, not counting those that
// met a confirmed fault.
func TestErrorsMakeARunInconclusive(t *testing.T) {
	const oom = "OOM command not allowed when used memory > 'maxmemory'."
	acquire := func(at int64, o history.Outcome, err string) history.Operation {
		return history.Operation{Op: history.Acquire, Call: at, Return: at + 1, Outcome: o, Err: err}
	}
	ok := func(n int) (ops []history.Operation) {
		for i := range n {
			ops = append(ops, acquire(int64(100+i), history.OK, ""))
		}
		return ops
	}
	releases := func(good, bad int) (ops []history.Operation) {
		for i := range good + bad {
			op := history.Operation{Op: history.Release, Call: int64(300 + i), Return: int64(301 + i), Outcome: history.OK}
			if i >= good {
				op.Outcome, op.Err = history.Fail, oom
			}
			ops = append(ops, op)
		}
		return ops
	}
	down := func(confirmed bool) []history.Window {
		return []history.Window{{Fault: "kill-server", Start: 1, End: 50, Confirmed: confirmed}}
	}
	count := func(ops []history.Operation, windows []history.Window) (e checker.Errors) {
		e.CountAll(ops, windows)
		return e
	}
	for _, row := range []struct {
		name    string
		ops     []history.Operation
		windows []history.Window
		want    string
	}{
		{"a tenth", append(ok(9), acquire(2, history.Fail, oom)), nil, ""},
		{"more than a tenth", append(ok(8), acquire(2, history.Fail, oom)), nil, "1 of 9 acquires failed: " + oom},
		{"without a text", append(ok(1), acquire(2, history.Fail, "")), nil, ""},
		{"cancelled, with the operation before", append(ok(1), acquire(2, history.Unknown, "acquire job: unknown outcome: cancelled: i/o timeout")), nil, ""},
		{"of two kinds", append(ok(1), acquire(2, history.Fail, oom), acquire(4, history.Unknown, "EOF"), acquire(6, history.Unknown, "EOF")), nil,
			"3 of 4 acquires failed: EOF (2 times)"},
		{"refusals, and waits that were over", append(ok(1), acquire(2, history.Busy, "lock is busy"), acquire(4, history.Fail, "wait: context deadline exceeded")), nil, ""},
		{"a wait that was over while a request was under way", append(ok(1), acquire(2, history.Unknown, "cancelled: acquire job: unknown outcome: i/o timeout")), nil, ""},
		{"in a fault", append(ok(1), acquire(2, history.Fail, oom)), down(true), ""},
		// one of 21 is no tenth
		{"beside many in a fault", append(ok(20), acquire(2, history.Fail, oom)), []history.Window{{Fault: "kill-server", Start: 10, End: 50, Confirmed: true}}, ""},
		{"on a slow network", append(ok(1), acquire(2, history.Fail, oom)), []history.Window{{Fault: "slow-network", Confirmed: true, Does: history.Delays}}, "1 of 2 acquires failed: " + oom},
		{"releases alone", append(ok(5), releases(4, 1)...), nil, "1 of 5 releases failed: " + oom},
		{"a tenth of the releases", append(ok(1), releases(9, 1)...), nil, ""},
		{"in a fault that was not confirmed", append(ok(1), acquire(2, history.Fail, oom)), down(false), "1 of 2 acquires failed: " + oom},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := count(row.ops, row.windows).Reason(); got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
	both := count(ok(5), nil).Add(count([]history.Operation{acquire(2, history.Fail, oom)}, nil))
	if got := both.Reason(); got != "1 of 6 acquires failed: "+oom {
		t.Error(got)
	}
	var many []history.Operation // each with an error of its own: those beyond a number count together
	for i := range 100 {
		many = append(many, acquire(int64(i), history.Fail, fmt.Sprintf("token %d", i)))
	}
	if got := count(many, nil).Add(count(many, nil)).Reason(); got != "200 of 200 acquires failed: other errors (162 times)" {
		t.Error(got)
	}
}
