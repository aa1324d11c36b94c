// Package beside has locks of other servers than Redis as children of lockbench, to be measured
// beside those of Redis: etcd, PostgreSQL, ZooKeeper. The store that they guard is lockbench's, so
// that all are judged alike.
package beside

import "github.com/lockbench/lockbench/subject"

// Locks returns the locks by name, with the address of their server.
func Locks() map[string]func(addr string) subject.Factory {
	return map[string]func(addr string) subject.Factory{
		"etcd-mutex": newEtcdMutex, "etcd-lease": newEtcdLease, "pg-advisory": newPgAdvisory, "pg-row": newPgRow, "zk-lock": newZkLock,
	}
}
