// Package libraries holds adapters of released Redis locks to lockbench's kit, with what each is known to break. It is a module of its own:
// what the libraries need is not what lockbench needs.
//
//	cd examples/libraries && go test ./...
//	cd examples/libraries && go build -o /tmp/library ./child && lockbench suite --exec '/tmp/library go-zero'
//
// What the names in Breaks mean is in package locktest; what was found, with source lines and what the projects know of it, is in
// docs/findings.md.
package libraries

import "github.com/lockbench/lockbench/subject"

// Adapters are the libraries by name.
func Adapters() map[string]subject.Factory {
	return map[string]subject.Factory{
		"asynq-unique":   newUniqueTask,
		"go-zero":        newGoZeroLock,
		"redsync-redigo": newRedsyncLock,
		"valkeylock":     newValkeyLock,
	}
}
