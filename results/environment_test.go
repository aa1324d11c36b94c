package results_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/fstest"

	"github.com/lockbench/lockbench/results"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func TestCaptureEnvironmentReadsTheMachine(t *testing.T) {
	common := fstest.MapFS{
		"proc/cpuinfo":              file("processor\t: 0\nvendor_id\t: X\nmodel name\t: Example CPU 3000\nmodel name\t: other\n"),
		"proc/sys/kernel/osrelease": file("6.1.0-test\n"),
		"sys/devices/system/clocksource/clocksource0/current_clocksource": file("kvm-clock\n"),
	}
	for _, tt := range []struct {
		name   string
		files  fstest.MapFS
		quota  float64
		memory int64
	}{
		{"no limits known", nil, 0, 0},
		{"second version, own group", fstest.MapFS{"proc/self/cgroup": file("0::/job/1\n"),
			"sys/fs/cgroup/job/1/cpu.max": file("150000 100000\n"), "sys/fs/cgroup/job/1/memory.max": file("1073741824\n")}, 1.5, 1 << 30},
		{"second version, unlimited", fstest.MapFS{"proc/self/cgroup": file("0::/\n"),
			"sys/fs/cgroup/cpu.max": file("max 100000\n"), "sys/fs/cgroup/memory.max": file("max\n")}, 0, 0},
		{"first version", fstest.MapFS{"sys/fs/cgroup/cpu/cpu.cfs_quota_us": file("200000\n"), "sys/fs/cgroup/cpu/cpu.cfs_period_us": file("100000\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n")}, 2, 0},
		{"first version, unlimited", fstest.MapFS{"sys/fs/cgroup/cpu/cpu.cfs_quota_us": file("-1\n"),
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": file("100000\n")}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for _, files := range []fstest.MapFS{common, tt.files} {
				for name, f := range files {
					root[name] = f
				}
			}
			e := results.CaptureEnvironment(t.Context(), results.Machine{Root: root})
			if e.CPU != "Example CPU 3000" || e.Kernel != "6.1.0-test" || e.ClockSource != "kvm-clock" {
				t.Errorf("machine: %+v", e)
			}
			if e.CPUQuota != tt.quota || e.MemoryLimit != tt.memory {
				t.Errorf("limits %v, %d; want %v, %d", e.CPUQuota, e.MemoryLimit, tt.quota, tt.memory)
			}
			if e.Go != runtime.Version() || e.GOMAXPROCS < 1 || e.CPUs < 1 {
				t.Errorf("runtime: %+v", e)
			}
		})
	}
}

func TestCaptureEnvironmentReadsTheBuild(t *testing.T) {
	build := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"},
		Deps: []*debug.Module{{Path: "github.com/redis/go-redis/v9", Version: "v9.1.0"}, {Path: "example.org/colours", Version: "v0.1.0"},
			{Path: "github.com/anishathalye/porcupine", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/porcupine", Version: "v9.9.9"}}},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}}
	e := results.CaptureEnvironment(t.Context(), results.Machine{Build: build})
	if e.Lockbench != "v1.2.3" || e.Git != "abc" || !e.Dirty {
		t.Errorf("build: %+v", e)
	}
	if len(e.Modules) != 2 || e.Modules["github.com/redis/go-redis/v9"] != "v9.1.0" || e.Modules["example.org/porcupine"] != "v9.9.9" {
		t.Errorf("modules: %v", e.Modules)
	}
}

func TestCaptureEnvironmentReadsTheCheckout(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not on PATH")
	}
	dir := t.TempDir()
	if e := results.CaptureEnvironment(t.Context(), results.Machine{Dir: dir}); e.Git != "" || e.Dirty {
		t.Errorf("outside a checkout: %+v", e)
	}
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "one"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if e := results.CaptureEnvironment(t.Context(), results.Machine{Dir: dir}); len(e.Git) != 40 || e.Dirty {
		t.Errorf("clean checkout: %q, dirty %v", e.Git, e.Dirty)
	}
	must(t, os.WriteFile(filepath.Join(dir, "f"), nil, 0o600))
	if out, err := exec.Command("git", "-C", dir, "add", "f").CombinedOutput(); err != nil {
		t.Fatalf("git add: %v\n%s", err, out)
	}
	if e := results.CaptureEnvironment(t.Context(), results.Machine{Dir: dir}); !e.Dirty {
		t.Error("uncommitted changes were not noticed")
	}
}
