// Command child serves a lock of another server to lockbench: lockbench run --exec 'child
// etcd-mutex 127.0.0.1:2379 NAME'. NAME separates runs.
package main

import (
	"log"
	"os"

	"github.com/lockbench/lockbench/examples/beside"
	"github.com/lockbench/lockbench/subject"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("child: want LOCK ADDRESS NAME")
	}
	lock := beside.Locks()[os.Args[1]]
	if lock == nil {
		log.Fatalf("child: no lock is called %q", os.Args[1])
	}
	make, name := lock(os.Args[2]), os.Args[3]
	err := subject.Serve(func(cfg subject.Config) (any, error) {
		cfg.Key = name + "-" + cfg.Key
		return make(cfg)
	})
	if err != nil {
		log.Fatal(err)
	}
}
