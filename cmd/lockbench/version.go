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
	revision := ""
	if info != nil {
		revision = commit(info.Settings)
	}
	return "lockbench " + facts(linkedVersion(linked, info), revision, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH) + "\n"
}

// linkedVersion is the linker's, or else the module's: of go install, or one that go build made of the checkout.
func linkedVersion(linked string, info *debug.BuildInfo) string {
	switch {
	case linked != "":
		return linked
	case info != nil && info.Main.Version != "":
		return info.Main.Version
	}
	return "(devel)"
}

// commit returns the commit of the build; "" if it has none.
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
