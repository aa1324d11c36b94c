package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/lockbench/lockbench/internal/testneeds"
)

// workflow is what the test reads of a GitHub workflow.
type workflow struct {
	Env  map[string]string
	Jobs map[string]struct {
		Strategy struct{ Matrix struct{ Shard []int } }
		Steps    []step
	}
}

type step struct {
	Name, Run, Uses string
	Env             map[string]string
}

// runner runs the steps of the example in one folder, which stands for the artifacts that jobs hand
// on.
type runner struct {
	workflow
	dir     string
	summary string // what the steps wrote to their job's page
}

func newRunner(t *testing.T) *runner {
	t.Helper()
	text, err := os.ReadFile(moduleRoot + "examples/ci/lockbench.yml")
	must(t, err)
	r := &runner{dir: t.TempDir()}
	must(t, yaml.Unmarshal(text, &r.workflow))
	for name, value := range map[string]string{"LOCKS": "token", "SCENARIOS": "steady,pause-holder", "SCHEDULES": "80",
		"BENCH": "--clients 1 --duration 900ms --warmup 100ms --reps 6"} {
		if r.Env[name] == "" {
			t.Errorf("the workflow sets no %s", name)
		}
		r.Env[name] = value // small
	}
	must(t, os.Mkdir(filepath.Join(r.dir, ".lockbench"), 0o755))
	return r
}

// job runs the commands of a job, once for each shard; install is the machine's affair. A code
// among may is no failure.
func (r *runner) job(t *testing.T, name string, may ...int) {
	t.Helper()
	j, ok := r.Jobs[name]
	if !ok {
		t.Fatalf("there is no job %s", name)
	}
	shards := j.Strategy.Matrix.Shard
	if len(shards) == 0 {
		shards = []int{0}
	}
	for _, shard := range shards {
		for _, s := range j.Steps {
			if s.Run != "" && s.Name != "install" {
				r.shell(t, s.Name, strings.ReplaceAll(s.Run, "${{ matrix.shard }}", strconv.Itoa(shard)), s.Env, may...)
			}
		}
	}
}

// shell runs a command as GitHub's runner does.
func (r *runner) shell(t *testing.T, name, command string, env map[string]string, may ...int) {
	t.Helper()
	if strings.Contains(command, "${{") {
		t.Fatalf("%s: the test does not know what %s means", name, command)
	}
	page := filepath.Join(r.dir, "page.md")
	c := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", command)
	c.Dir, c.Env = r.dir, append(os.Environ(), "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY="+page)
	for _, vars := range []map[string]string{r.Env, env} {
		for k, v := range vars {
			c.Env = append(c.Env, k+"="+v)
		}
	}
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || !slices.Contains(may, exit.ExitCode())) {
		t.Fatalf("%s: %s: %v\n%s", name, command, err, out)
	}
	if text, err := os.ReadFile(page); err == nil {
		r.summary = string(text)
	}
}

// TestExampleWorkflow runs what the example of docs/ci.md says, for one lock in two scenarios.
func TestExampleWorkflow(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a suite in eight parts")
	}
	r := newRunner(t)
	r.shell(t, "store", `lockbench suite --locks "$LOCKS" --scenarios "$SCENARIOS" --store .lockbench/suite.json`, map[string]string{"GITHUB_STEP_SUMMARY": ""})
	r.job(t, "suite")
	if r.summary != "" {
		t.Errorf("the parts wrote to their pages:\n%s", r.summary)
	}
	if n := len(r.Jobs["suite"].Strategy.Matrix.Shard); n != 8 {
		t.Errorf("%d parts, and the commands say /8", n)
	}
	r.job(t, "verdict")
	want(t, "the page of the suite", r.summary, "token", "pause-holder")
	// A part that is missing is told.
	r.shell(t, "loss", "rm suite-3.json; ! lockbench merge suite-*.json --out again 2> said; grep -q '3/8 missing' said", nil)
}

func TestExampleWorkflowBench(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	testneeds.RedisBinary(t)
	r := newRunner(t)
	r.shell(t, "store", `lockbench bench --locks "$LOCKS" $BENCH --server process --store .lockbench/bench.json`, map[string]string{"GITHUB_STEP_SUMMARY": ""})
	r.summary = ""
	// so little measured on a busy machine may look slower, or like nothing
	r.job(t, "bench", exitGate, exitInconclusive)
	want(t, "the page of the bench", r.summary, "token")
}

// manifest is what the test reads of a Kubernetes object.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Completions, Parallelism int
		CompletionMode           string `yaml:"completionMode"`
		Template                 struct {
			Spec struct {
				Containers []struct {
					Args         []string
					VolumeMounts []struct {
						MountPath string `yaml:"mountPath"`
					} `yaml:"volumeMounts"`
				}
			}
		}
	}
}

func manifests(t *testing.T, file string) (all []manifest) {
	t.Helper()
	f, err := os.Open(moduleRoot + "examples/kubernetes/" + file)
	must(t, err)
	defer f.Close()
	for d := yaml.NewDecoder(f); ; {
		var m manifest
		switch err := d.Decode(&m); err {
		case nil:
			all = append(all, m)
		case io.EOF:
			return all
		default:
			t.Fatal(err)
		}
	}
}

// TestKubernetesExample runs the commands of the manifests, pod after pod, on small things, as
// Kubernetes would fill them in. What the pods of the suite leave joins to a whole.
func TestKubernetesExample(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a suite in eight parts")
	}
	data := t.TempDir()
	small := map[string][]string{"suite": {"--locks", "token,set-nx-ex", "--scenarios", "steady,contended,pause-holder,crash-holder"}, "explore": {"--schedules", "80"}, "merge": nil}
	ran := 0
	for _, m := range append(manifests(t, "lockbench.yml"), manifests(t, "merge.yml")...) {
		if m.Kind != "Job" {
			continue
		}
		pods := max(m.Spec.Completions, 1)
		if pods > 1 && (m.Spec.CompletionMode != "Indexed" || m.Spec.Parallelism != pods) {
			t.Errorf("%s: %d pods, %d at once, mode %q: want all at once and Indexed", m.Metadata.Name, pods, m.Spec.Parallelism, m.Spec.CompletionMode)
		}
		c := m.Spec.Template.Spec.Containers[0]
		for i := range pods {
			var args []string
			for _, a := range c.Args {
				a = strings.ReplaceAll(a, "$(JOB_COMPLETION_INDEX)", strconv.Itoa(i))
				args = append(args, strings.Replace(a, c.VolumeMounts[0].MountPath, data, 1))
			}
			args = append(args, small[args[0]]...)
			if out, err := exec.CommandContext(t.Context(), "lockbench", args...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
			ran++
		}
	}
	if ran != 17 {
		t.Errorf("%d commands were run, want 8 + 8 + 1", ran)
	}
	if _, err := os.Stat(filepath.Join(data, "whole")); err != nil {
		t.Error(err)
	}
}
