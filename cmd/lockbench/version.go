package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// version is the release's, set by the linker (-X main.version=…, see the Makefile) and by nothing else; "" in any other build.
var version string

// versionText is what --version prints: the version, the commit it was built from, the Go release and the platform.
func versionText(linked string, info *debug.BuildInfo) string {
	v, revision := linked, ""
	if info != nil {
		if v == "" {
			v = info.Main.Version // a module version of go install, or one that go build made of the checkout
		}
		revision = commit(info.Settings)
	}
	if v == "" {
		v = "(devel)"
	}
	return "lockbench " + facts(v, revision, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH) + "\n"
}

// commit names the checkout's commit; "" when the build was told nothing of it.
func commit(settings []debug.BuildSetting) string {
	known := map[string]string{}
	for _, s := range settings {
		known[s.Key] = s.Value
	}
	revision := known["vcs.revision"]
	if revision == "" {
		return ""
	}
	if known["vcs.modified"] == "true" {
		revision += " with changes"
	}
	return fmt.Sprintf("commit %s", strings.TrimSpace(revision))
}
