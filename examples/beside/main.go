// Command beside has locks of other servers than Redis, to be measured beside those of Redis: etcd,
// PostgreSQL, ZooKeeper. The store that they guard is lockbench's, so that all are judged alike.
//
//	beside etcd-mutex 127.0.0.1:2379 NAME   serves a lock: lockbench run --exec 'beside …'
//	beside table LOCKBENCH                  measures all, and prints a Markdown table
//
// NAME separates runs. The table takes some five minutes on two cores, and LOCKBENCH is the
// program, as built by go build ./cmd/lockbench.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/lockbench/lockbench/subject"
)

func main() {
	log.SetPrefix("beside: ")
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == "table":
		err = table(args[1])
	case len(args) == 3:
		err = serve(args[0], args[1], args[2])
	default:
		err = errors.New("want LOCK ADDRESS NAME, or table LOCKBENCH")
	}
	if err != nil {
		log.Fatal(err)
	}
}

// serve is a child of lockbench with one lock, whose keys begin with a name.
func serve(lock, addr, name string) error {
	factory := locks()[lock]
	if factory == nil {
		return fmt.Errorf("no lock is called %q", lock)
	}
	open := factory(addr)
	return subject.Serve(func(cfg subject.Config) (any, error) {
		cfg.Key = name + "-" + cfg.Key
		return open(cfg)
	})
}

// locks returns the locks by name, with the address of their server.
func locks() map[string]func(addr string) subject.Factory {
	return map[string]func(addr string) subject.Factory{
		"etcd-mutex": newEtcdMutex, "etcd-lease": newEtcdLease, "pg-advisory": newPgAdvisory, "pg-row": newPgRow, "zk-lock": newZkLock,
	}
}
