package scenarios

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/faults"
)

const good = `name: mine
about: for tests
workload: counter
clients: 2
ops: 3
lease: 300ms
faults:
- fault: pause-client
  when: {moment: entered}
  for: 1.5 lease
`

// Each row changes one thing of a good file and has the whole first error.
func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ name, old, new, want string }{
		{"an unknown field", "lease:", "leese:", "f.yaml:6:1: unknown field \"leese\"; did you mean \"lease\"?\n  6 | leese: 300ms\n    | ^"},
		{"an unknown field without a similar name", "about:", "zzzzzzzzzz:", "f.yaml:2:1: unknown field \"zzzzzzzzzz\"; known are about, amounts, clients, downafter, duration, faults, keep, keys, lease, maxmemory, minreplicas, name, nodes, ops, pace, pause, permits, persistence, poll, rate, readers, slo, think, topology, wait, warmup, workload\n  2 | zzzzzzzzzz: for tests\n    | ^"},
		{"an unknown field of a fault", "for:", "four:", "f.yaml:10:3: unknown field \"four\"; did you mean \"for\"?\n  10 |   four: 1.5 lease\n     |   ^"},
		{"an invalid span", "300ms", "300 parsec", "f.yaml:6:8: \"300 parsec\": a span looks like \"250ms\", \"1.5 lease\" or \"1 lease + 20ms\"\n  6 | lease: 300 parsec\n    |        ^"},
		{"a lease in leases", "300ms", "2 lease", "f.yaml:6:8: 2 lease: the lease itself is not given in leases\n  6 | lease: 2 lease\n    |        ^"},
		{"no lease", "lease: 300ms\n", "", "f.yaml:1:1: lease: is missing\n  1 | name: mine\n    | ^"},
		{"a lease of 0", "lease: 300ms", "lease: 0s", "f.yaml:6:8: must be at least 1ms\n  6 | lease: 0s\n    |        ^"},
		{"a lease that no clock could measure", "300ms", "999999999h", "f.yaml:6:8: \"999999999h\": a span is at most 10000h0m0s\n"},
		{"no clients", "clients: 2\n", "", "f.yaml:1:1: clients: is missing\n"},
		{"a fault at the time 0", "moment: entered", "after: 0s", "f.yaml:9:17: must be more than 0; a fault without when is there"},
		{"text for a number", "clients: 2", "clients: two", "f.yaml:4:10: want a whole number, got \"two\"\n  4 | clients: two\n    |          ^"},
		{"a quoted number for a number", "clients: 2", `clients: "2"`, "f.yaml:4:10: want a whole number, got \"2\"\n  4 | clients: \"2\"\n    |          ^"},
		{"a fraction for a whole number", "clients: 2", "clients: 2.5", "f.yaml:4:10: want a whole number, got \"2.5\"\n  4 | clients: 2.5\n    |          ^"},
		{"a quoted rate", "ops: 3", "ops: 3\nrate: \"1e6\"", "f.yaml:6:7: want a number, got \"1e6\"\n  6 | rate: \"1e6\"\n    |       ^"},
		{"a whole number that is too large", "clients: 2", "clients: 99999999999999999999", "f.yaml:4:10: want a whole number, got \"99999999999999999999\"\n  4 | clients: 99999999999999999999\n    |          ^"},
		{"a number for text", "name: mine", "name: 7", "f.yaml:1:7: want text, got \"7\"\n  1 | name: 7\n    |       ^"},
		{"a long line", "name: mine", "name: " + strings.Repeat("x", 40) + " " + strings.Repeat("y", 60), "f.yaml:1:7: \"" + strings.Repeat("x", 40) + " " + strings.Repeat("y", 60) + "\": a name is letters and digits, joined by hyphens\n  1 | name: " + strings.Repeat("x", 40) + " " + strings.Repeat("y", 23) + "\n    |       ^"},
		{"the end of a long line", "entered}", "entered," + strings.Repeat(" ", 100) + "nthh: 1" + strings.Repeat(" ", 99) + "}", "f.yaml:9:126: unknown field \"nthh\"; did you mean \"nth\"?\n  9 | " + strings.Repeat(" ", 35) + "nthh: 1" + strings.Repeat(" ", 28) + "\n    | " + strings.Repeat(" ", 35) + "^"},
		{"a name with a space", "name: mine", "name: my own", "f.yaml:1:7: \"my own\": a name is letters and digits, joined by hyphens\n  1 | name: my own\n    |       ^"},
		{"too many clients", "clients: 2", "clients: 5000", "f.yaml:4:10: must be between 1 and 1024\n  4 | clients: 5000\n    |          ^"},
		{"an unknown workload", "counter", "countre", "f.yaml:3:11: unknown workload \"countre\"; did you mean \"counter\"?\n  3 | workload: countre\n    |           ^"},
		{"an unknown fault", "pause-client", "pause-cleint", "f.yaml:8:10: unknown fault \"pause-cleint\"; did you mean \"pause-client\"?\n  8 | - fault: pause-cleint\n    |          ^"},
		{"an unknown moment", "entered", "enterd", "f.yaml:9:18: unknown moment \"enterd\"; did you mean \"entered\"?\n  9 |   when: {moment: enterd}\n    |                  ^"},
		{"two triggers", "entered}", "entered, after: 1s}", "f.yaml:9:9: want exactly one of moment, request, reply, after and within\n  9 |   when: {moment: entered, after: 1s}\n    |         ^"},
		{"a fault that needs a trigger", "  when: {moment: entered}\n", "", "f.yaml:8:3: faults.0.when: pause-client needs one of moment, request, reply, after and within\n  8 | - fault: pause-client\n    |   ^"},
		{"a fault that needs a time", "  for: 1.5 lease\n", "", "f.yaml:8:3: faults.0.for: pause-client needs it\n  8 | - fault: pause-client\n    |   ^"},
		{"a field that the fault does not use", "for: 1.5 lease", "for: 1s\n  by: 3s", "f.yaml:11:7: pause-client does not use it\n  11 |   by: 3s\n     |       ^"},
		{"a negative time", "1.5 lease", "-1 lease", "f.yaml:10:8: must not be negative\n  10 |   for: -1 lease\n     |        ^"},
		{"a client beyond the last", "  for:", "  client: 3\n  for:", "f.yaml:10:11: must be between 0 and 2\n  10 |   client: 3\n     |           ^"},
		{"an unknown operation", "moment: entered", "reply: aquire SET", "f.yaml:9:17: unknown operation \"aquire\"; known are acquire, any, extend, release, use\n  9 |   when: {reply: aquire SET}\n    |                 ^"},
		{"two commands", "moment: entered", "reply: acquire SET NX", "f.yaml:9:25: \"SET NX\": after the operation comes one command, or *w for all that write\n  9 |   when: {reply: acquire SET NX}\n    |                         ^"},
		{"the second part of a span", "1.5 lease", "1 lease + 20 mss", "f.yaml:10:18: \"20 mss\": a span looks like \"250ms\", \"1.5 lease\" or \"1 lease + 20ms\"\n  10 |   for: 1 lease + 20 mss\n     |                  ^"},
		{"the limit of a gate", "ops: 3", "ops: 3\nslo: [acquire.p99 < 20mss]", "f.yaml:6:21: \"20mss\": acquire.p99 is a time: want a limit such as 20ms\n  6 | slo: [acquire.p99 < 20mss]\n    |                     ^"},
		{"a mapping for a list", "- fault: pause-client\n  when: {moment: entered}\n  for: 1.5 lease", "  fault: pause-client", "f.yaml:8:3: want a list, got a mapping\n  8 |   fault: pause-client\n    |   ^"},
		{"a list for a mapping", "when: {moment: entered}", "when: [entered]", "f.yaml:9:9: want a mapping, got a list\n  9 |   when: [entered]\n    |         ^"},
		{"an alias", "about: for tests", "about: &a x", "f.yaml:2:8: want text, got an anchor, alias or tag, which scenarios do not use\n  2 | about: &a x\n    |        ^"},
		{"a tab, which would be lost when the run keeps its scenario", "about: for tests", `about: "a\tb"`, "f.yaml:2:8: want text without tabs and other control characters, got \"a\\tb\"\n  2 | about: \"a\\tb\"\n    |        ^"},
		{"nothing", "about: for tests", "about:", "f.yaml:2:7: want text, got nothing\n  2 | about:\n    |       ^"},
		{"a tab as indentation", "about:", "\tabout:", "f.yaml:2:1: YAML allows no tab as indentation: indent with spaces\n  2 |  about: for tests\n    | ^"},
		{"the same field twice", "about: for tests", "name: again", "f.yaml:2:1: mapping key \"name\" already defined at [1:1]\n  2 | name: again\n    | ^"},
		{"broken YAML", "{moment: entered}", "{moment: entered", "f.yaml:10:3: ',' or '}' must be specified\n  10 |   for: 1.5 lease\n     |   ^"},
		{"two documents", "name: mine", "name: x\n---\nname: y", "f.yaml:1:1: want one YAML document, a mapping; there are 2\n  1 | name: x\n    | ^"},
		{"neither ops nor duration", "ops: 3\n", "", "f.yaml:1:1: ops: ops or duration must be given\n  1 | name: mine\n    | ^"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := strings.Replace(good, tt.old, tt.new, 1)
			_, err := Parse("f.yaml", []byte(src))
			if err == nil {
				t.Fatalf("no error; want %s", tt.want)
			}
			first, ok := errors.AsType[*Error](err)
			if !ok || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got\n%v\nwant\n%s", err, tt.want)
			}
			if ok && first.File != "f.yaml" {
				t.Errorf("file %q", first.File)
			}
		})
	}
}

// Numbers and text in YAML's forms, and a large rate as the library writes it.
func TestSingleValues(t *testing.T) {
	for _, tt := range []struct {
		old, new string
		check    func(Scenario) bool
	}{
		{"ops: 3", "ops: 3\nrate: 1e+06", func(s Scenario) bool { return s.Rate == 1e6 }},
		{"ops: 3", "ops: 3\nrate: 2", func(s Scenario) bool { return s.Rate == 2 }},
		{"ops: 3", "ops: 0x10", func(s Scenario) bool { return s.Ops == 16 }},
		{"about: for tests", "about: |\n  two\n  lines", func(s Scenario) bool { return s.About == "two\nlines" }},
		{"about: for tests", `about: "1e6"`, func(s Scenario) bool { return s.About == "1e6" }},
		{"ops: 3", "ops: 3\nthink: 0", func(s Scenario) bool { return s.Think == faults.Span{} }},
	} {
		s, err := Parse("f.yaml", []byte(strings.Replace(good, tt.old, tt.new, 1)))
		if err != nil || !tt.check(s) {
			t.Errorf("%s: %+v, %v", tt.new, s, err)
			continue
		}
		text, err := s.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Parse("f.yaml", text); err != nil || !cmp.Equal(s, again) {
			t.Errorf("%s: written and read again: %v", tt.new, err)
		}
	}
}

// A value that cannot be read hides no error of another, and is the reason for none.
func TestErrorsBesideValuesThatAreNotRead(t *testing.T) {
	for _, tt := range []struct {
		name, src string
		want      []string
	}{
		{"an unknown field and an unknown fault", strings.NewReplacer("about:", "abuot:", "pause-client", "pause-cleint").Replace(good), []string{
			"f.yaml:2:1: unknown field \"abuot\"", "f.yaml:8:10: unknown fault \"pause-cleint\""}},
		{"all of a fault", strings.NewReplacer("pause-client", "pause-cleint", "for:", "four:").Replace(good), []string{
			"f.yaml:8:10: unknown fault \"pause-cleint\"", "f.yaml:10:3: unknown field \"four\""}},
		{"a moment beside a span", strings.NewReplacer("entered", "enterd", "1.5 lease", "soon").Replace(good), []string{
			"f.yaml:9:18: unknown moment \"enterd\"", "f.yaml:10:8: \"soon\""}},
		{"the number of clients", strings.NewReplacer("clients: 2", "clients: two", "  for:", "  client: 3\n  for:").Replace(good), []string{
			"f.yaml:4:10: want a whole number"}},
		{"the lease under another name", strings.Replace(good, "lease:", "leese:", 1), []string{"f.yaml:6:1: unknown field \"leese\""}},
		{"the duration", strings.Replace(good, "ops: 3", "duration: 3\nwarmup: 1s", 1), []string{"f.yaml:5:11: \"3\""}},
		{"a field that is missing", strings.NewReplacer("lease: 300ms\n", "", "clients: 2", "clients: two").Replace(good), []string{
			"f.yaml:1:1: lease: is missing", "f.yaml:4:10: want a whole number"}},
		{"the topology", strings.NewReplacer("lease: 300ms\n", "lease: 300ms\ntopology: [x]\n", "pause-client", "failover", "  for: 1.5 lease\n", "").Replace(good), []string{
			"f.yaml:7:11: want text, got a list"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("f.yaml", []byte(tt.src))
			if err == nil {
				t.Fatal("no error")
			}
			var got []string
			for line := range strings.Lines(err.Error()) {
				if strings.HasPrefix(line, "f.yaml:") {
					got = append(got, line)
				}
			}
			for i, want := range tt.want {
				if len(got) != len(tt.want) || !strings.HasPrefix(got[i], want) {
					t.Fatalf("got\n%v\nwant the errors %q", err, tt.want)
				}
			}
		})
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Load(path)
	if err != nil || s.Name != "mine" || s.Faults[0].For != (faults.Span{Leases: 1.5}) {
		t.Errorf("file: %+v, %v", s, err)
	}
	if s, err := Load("pause-holder"); err != nil || s.Name != "pause-holder" {
		t.Errorf("built in: %+v, %v", s, err)
	}
	if _, err := Load("pause-holdr"); !errors.Is(err, errUnknown) || !strings.Contains(err.Error(), `did you mean "pause-holder"`) {
		t.Errorf("unknown: %v", err)
	}
	if _, err := Load("no/such.yaml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func TestWith(t *testing.T) {
	base, err := Parse("f.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	got, err := base.With([]string{
		"lease=2s", "faults.0.when={reply: acquire *w, nth: 2}", "faults.0.for = 2 lease",
		"faults.1.fault=crash-client", // invalid until it has a trigger, see below
	})
	if err == nil || !strings.Contains(err.Error(), "needs one of moment") {
		t.Fatalf("a fault without a trigger: %+v, %v", got, err)
	}
	got, err = base.With([]string{
		"lease=2s", "faults.0.when={reply: acquire *w, nth: 2}", "faults.0.for = 2 lease",
		"faults.1={fault: crash-client, when: {moment: granted}}", "rate=2.5",
	})
	want := base
	want.Lease, want.Rate = ms(2000), 2.5
	want.Faults = []faults.Spec{
		{Fault: faults.PauseClient, When: faults.Trigger{Reply: "acquire *w", Nth: 2}, For: faults.Span{Leases: 2}},
		{Fault: faults.CrashClient, When: faults.Trigger{Moment: "granted"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("differ (-want +got):\n%s\nerror %v", diff, err)
	}
	if base.Lease != ms(300) || len(base.Faults) != 1 || base.Faults[0].For.Leases != 1.5 {
		t.Errorf("the base was changed: %+v", base)
	}
}

func TestWithErrors(t *testing.T) {
	base, err := Parse("f.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ set, want string }{
		{"leese=2s", "--set:1:1: unknown field \"leese\"; did you mean \"lease\"?\n  1 | leese=2s\n    | ^"},
		{"lease=long", "--set:1:7: \"long\": a span looks like \"250ms\", \"1.5 lease\" or \"1 lease + 20ms\"\n  1 | lease=long\n    |       ^"},
		{"clients=-1", "--set:1:9: must be between 1 and 1024\n  1 | clients=-1\n    |         ^"},
		{"faults.7.for=1s", "--set:1:1: \"7\" is not a position in a list of 1\n  1 | faults.7.for=1s\n    | ^"},
		{"faults.x=1", "--set:1:1: \"x\" is not a position in a list of 1\n  1 | faults.x=1\n    | ^"},
		{"lease.x=1", "--set:1:1: \"x\" cannot be set: its parent is a single value\n  1 | lease.x=1\n    | ^"},
		{"lease", "--set:1:1: an override looks like lease=2s or faults.0.for=\"2 lease\"\n  1 | lease\n    | ^"},
		{"keys=[a", "--set:1:6: the value is not YAML"},
	} {
		if _, err := base.With([]string{tt.set}); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s:\ngot\n%v\nwant\n%s", tt.set, err, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	for _, name := range []string{"transfer", "K3"} {
		data, err := files.ReadFile("builtin/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("amounts: [1, 2, 3]\nfaults:\n- when: {nth: 99999999999999999999}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("f.yaml", data)
		if err != nil {
			return
		}
		again, err := s.YAML()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse("again.yaml", again)
		if diff := cmp.Diff(s, back); diff != "" || err != nil {
			t.Errorf("written and read again, it differs:\n%s\nerror %v\n%s", diff, err, again)
		}
	})
}
