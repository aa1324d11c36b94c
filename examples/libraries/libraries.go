// Command libraries has adapters that test released Redis locks with package locktest, and the
// rules that each is known to break. It is a module of its own, so that lockbench does not depend
// on the libraries.
//
//	cd examples/libraries && go test ./...
//	cd examples/libraries && go build -o /tmp/library . && lockbench suite --exec '/tmp/library go-zero'
//
// Package locktest explains the names in Breaks. docs/findings.md has the findings, with source
// lines and the projects' issues.
package main

import "github.com/lockbench/lockbench/subject"

// adapters returns the libraries by name.
func adapters() map[string]subject.Factory {
	return map[string]subject.Factory{
		"asynq-unique":   newUniqueTask,
		"gotomicro":      newGotomicroLock,
		"go-zero":        newGoZeroLock,
		"kvtools":        newKvtoolsLock,
		"kvtools-json":   newKvtoolsJSONLock,
		"redsync-redigo": newRedsyncLock,
		"valkeylock":     newValkeyLock,
	}
}
