package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/internal/testneeds"
)

func TestVersionText(t *testing.T) {
	build := &debug.BuildInfo{Main: debug.Module{Version: "v0.3.1"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc123"}, {Key: "vcs.modified", Value: "true"}}}
	clean := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc123"}, {Key: "vcs.modified", Value: "false"}}}
	here := runtime.Version() + "  " + runtime.GOOS + "/" + runtime.GOARCH
	for _, row := range []struct {
		name, linked string
		info         *debug.BuildInfo
		want         string
	}{
		{"go install of a version", "", build, "lockbench v0.3.1  commit abc123 with changes  " + here},
		{"make release", "v1.0.0", build, "lockbench v1.0.0  commit abc123 with changes  " + here},
		{"an unmodified checkout", "", clean, "lockbench (devel)  commit abc123  " + here},
		{"a binary that says nothing", "", nil, "lockbench (devel)  " + here},
	} {
		if got := newBuild(row.linked, row.info).String(); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

// TestRelease makes the release of one platform: what it leaves is static, carries its version and
// matches its checksum. The image that the Dockerfile makes of it runs the suite. Paths are not
// trimmed here: the build cache then serves most packages.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program and an image")
	}
	dist := t.TempDir()
	name := "lockbench-linux-" + runtime.GOARCH
	output(t, "make", "-C", moduleRoot, "release", "PLATFORMS=linux/"+runtime.GOARCH, "VERSION=v9.9.9-test", "TRIM=", "DIST="+dist)
	program := filepath.Join(dist, name)
	binary, err := os.ReadFile(program)
	must(t, err)
	sum := sha256.Sum256(binary)
	sums, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
	if line := hex.EncodeToString(sum[:]) + "  " + name + "\n"; err != nil || string(sums) != line {
		t.Errorf("checksums %q, %v; want %q", sums, err, line)
	}
	if runtime.GOOS == "linux" {
		want(t, "--version", output(t, program, "--version"), "lockbench v9.9.9-test  ", "  "+runtime.Version()+"  linux/"+runtime.GOARCH)
	}
	t.Run("image", func(t *testing.T) { runImage(t, dist) })
}

// runImage builds the image, and runs its default command for two locks and two scenarios, without
// a network.
func runImage(t *testing.T, dist string) {
	needDocker(t)
	tag := fmt.Sprintf("lockbench-test:%d", os.Getpid())
	output(t, "docker", "build", "-q", "-t", tag, "--build-arg", "TARGETARCH="+runtime.GOARCH, "-f", moduleRoot+"Dockerfile", dist)
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", "-f", tag).Run() })
	if got := output(t, "docker", "inspect", "-f", "{{json .Config.Cmd}}", tag); got != `["suite","--server","sim"]`+"\n" {
		t.Errorf("the image's default command is %s", got)
	}
	want(t, "the image's suite", output(t, "docker", "run", "--rm", "--network", "none", tag, "suite", "--server", "sim", "--locks", "token,set-nx-ex",
		"--scenarios", "steady,pause-holder"), "PASS", "pause-holder")
}

// needDocker skips the test without a Docker engine and its command, unless LOCKBENCH_REQUIRE names
// docker.
func needDocker(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := exec.CommandContext(ctx, "docker", "version").Run(); err != nil {
		testneeds.Need(t, "docker", fmt.Errorf("docker: %w", err))
	}
}

// output runs a command that must succeed, and gives what it wrote.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
