package main

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/lockbench/lockbench/results"
)

// version is the release's, set by the linker (-X main.version=…, see the Makefile) and by nothing
// else; "" in any other build.
var version string

// build is the program's version, and with -o json what --version prints.
type build struct {
	Schema   string `json:"schema"`
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // that it was built from; not known of go install
	Changed  bool   `json:"changed"`          // the checkout had changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newBuild(linked string, info *debug.BuildInfo) build {
	e := results.CaptureEnvironment(context.Background(), results.Machine{Build: info})
	return build{"lockbench/version/v1", linkedVersion(linked, info), e.Git, e.Git != "" && e.Dirty, e.Go, e.Platform}
}

// String is what --version prints: the version, the commit it was built from, the Go release and
// the platform.
func (b build) String() string {
	from := ""
	if b.Commit != "" {
		from = "commit " + b.Commit
	}
	if b.Changed {
		from += " with changes"
	}
	return "lockbench " + facts(b.Version, from, b.Go, b.Platform)
}

func (a *app) showVersion() error {
	b := newBuild(version, thisMachine().Build)
	if a.json() {
		return a.writeJSON(b)
	}
	_, err := fmt.Fprintln(a.out, b)
	return err
}

// linkedVersion is the linker's, or else the module's: of go install, or one that go build made of
// the checkout.
func linkedVersion(linked string, info *debug.BuildInfo) string {
	switch {
	case linked != "":
		return linked
	case info != nil && info.Main.Version != "":
		return info.Main.Version
	}
	return "(devel)"
}
