// Package libraries holds adapters of released Redis locks to lockbench's kit, with what each is known to break. It is a module of its own:
// what the libraries need is not what lockbench needs.
//
//	cd examples/libraries && go test ./...
//
// What the names in Breaks mean is in package locktest; what was found, with source lines and what the projects know of it, is in
// docs/findings.md.
package libraries
