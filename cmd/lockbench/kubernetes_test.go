package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

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
