package servers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// beginLogs prepares the logs of the nodes, before the servers start. Those of servers with
// sentinels begin when the replicas have copied the primary.
func (f *fleet) beginLogs() {
	if !f.spec.Log || f.sentinels != nil {
		return
	}
	for _, n := range f.nodes[:f.spec.Topology.Primaries(len(f.nodes))] {
		f.logs = append(f.logs, &nodeLog{parts: []logPart{{dir: n.logDir(), to: -1}}})
	}
}

// beginReplicaLogs begins the logs of servers that replicate to each other, each its own.
func (f *fleet) beginReplicaLogs() error {
	if !f.spec.Log {
		return nil
	}
	for _, n := range f.nodes {
		log := &nodeLog{copies: true}
		if err := log.goOn("", n.logDir()); err != nil {
			return err
		}
		f.logs = append(f.logs, log)
	}
	return nil
}

func (n *node) logDir() string { return filepath.Join(n.dataDir(), logDir) }

// restartLog prepares the log of a machine for the start of its server, which is dead. log is that
// of [fleet.logOf]. It moves the file away from a server that is to lose its data.
func (f *fleet) restartLog(n *node, log *nodeLog) error {
	if f.logs == nil {
		return nil
	}
	dir, kept := n.logDir(), f.spec.Persistence != impls.PersistNone
	if !kept {
		away := dir
		for number := 1; ; number++ {
			away = fmt.Sprintf("%s.%d", dir, number)
			if _, err := os.Stat(away); err != nil {
				break
			}
		}
		if err := os.Rename(dir, away); err != nil {
			return err
		}
		if log != nil {
			log.moved(dir, away)
		}
	}
	if log == nil {
		return nil
	}
	return log.begin(logPart{effect: history.Restarted, kept: kept, dir: dir})
}

// logOf returns the log of the node that a machine is for clients; nil for a replica, and if there
// are no logs.
func (f *fleet) logOf(i int) *nodeLog {
	if f.logs == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if number := slices.Index(f.roles, i); number < len(f.logs) {
		return f.logs[number]
	}
	return nil
}

// promoteLog continues the log of a primary with that of a replica that was promoted, before
// clients know it.
func (f *fleet) promoteLog(number int, n *node) error {
	if f.logs == nil {
		return nil
	}
	files, err := openLog(n.logDir())
	if err != nil {
		return err
	}
	info, err := files[len(files)-1].Stat()
	if err != nil {
		return err
	}
	return f.logs[number].begin(logPart{effect: history.Promoted, dir: n.logDir(), before: files, from: info.Size()})
}

func (f *fleet) Log() *Log {
	if f.logs == nil {
		return nil
	}
	return &Log{nodes: f.logs}
}
