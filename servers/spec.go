package servers

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/lockbench/lockbench/impls"
)

const (
	defaultIndependent = 5
	maxNodes           = 16
	sentinelNodes      = 3 // a primary and two replicas
)

// fill validates a spec and fills in the defaults.
func (s Spec) fill() (Spec, error) {
	s.Topology = cmp.Or(s.Topology, impls.Standalone)
	s.Persistence = cmp.Or(s.Persistence, impls.PersistNone)
	s.Name = cmp.Or(s.Name, "redis")
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,62}$`).MatchString(s.Name) {
		return s, fmt.Errorf("server name %q: letters, digits and hyphens, at most 63", s.Name)
	}
	if s.MaxMemory < 0 {
		return s, fmt.Errorf("max memory %d: must not be negative", s.MaxMemory)
	}
	switch s.Persistence {
	case impls.PersistNone, impls.PersistEverySec, impls.PersistAlways:
	default:
		return s, fmt.Errorf("persistence %q: none, everysec or always", s.Persistence)
	}
	if s.DownAfter = cmp.Or(s.DownAfter, DefaultDownAfter); s.DownAfter < time.Millisecond {
		return s, fmt.Errorf("down after %v: at least a millisecond", s.DownAfter)
	}
	return s.fillNodes()
}

func (s Spec) fillNodes() (Spec, error) {
	fixed := map[impls.Topology]int{impls.Standalone: 1, impls.Sentinel: sentinelNodes}
	if n, ok := fixed[s.Topology]; ok {
		if s.Nodes != 0 && s.Nodes != n {
			return s, fmt.Errorf("%d nodes: %s has %d", s.Nodes, s.Topology, n)
		}
		s.Nodes = n
		return s, nil
	}
	least, usual := 1, defaultIndependent
	switch s.Topology {
	case impls.Independent:
	case impls.Replicated:
		least, usual = 2, 2
	case impls.Cluster:
		least, usual = impls.ClusterMasters, impls.ClusterMasters
	default:
		return s, fmt.Errorf("unknown topology %q", s.Topology)
	}
	s.Nodes = cmp.Or(s.Nodes, usual)
	if s.Nodes < least || s.Nodes > maxNodes {
		return s, fmt.Errorf("%d %s nodes: %d to %d", s.Nodes, s.Topology, least, maxNodes)
	}
	return s, nil
}

// machines returns the number of servers and sentinels.
func (s Spec) machines() int {
	if s.hasSentinels() {
		return s.Nodes + sentinelCount
	}
	return s.Nodes
}

// args returns the arguments of the server of a node.
func (s Spec) args(node int) []string {
	args := []string{"--save", "", "--daemonize", "no", "--protected-mode", "no"}
	switch s.Persistence {
	case impls.PersistEverySec, impls.PersistAlways:
		args = append(args, "--appendonly", "yes", "--appendfsync", string(s.Persistence))
	default:
		if !s.Log {
			args = append(args, "--appendonly", "no")
			break
		}
		args = append(args, "--appendonly", "yes", "--appendfsync", "no")
	}
	if s.Log {
		args = append(args, logArgs...)
	}
	if s.MaxMemory > 0 {
		args = append(args, "--maxmemory", fmt.Sprint(s.MaxMemory), "--maxmemory-policy", "allkeys-lru")
	}
	switch s.Topology {
	case impls.Cluster:
		// Otherwise the cluster refuses every key while one master is down.
		args = append(args, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000",
			"--cluster-require-full-coverage", "no")
	}
	if s.Topology.Primaries(s.Nodes) < s.Nodes || s.hasSentinels() {
		args = append(args, "--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0")
	}
	if s.MinReplicas > 0 {
		args = append(args, "--min-replicas-to-write", fmt.Sprint(s.MinReplicas), "--min-replicas-max-lag", "1")
	}
	if s.barriers != nil {
		host, port, _ := strings.Cut(s.barriers[node].addr(), ":")
		args = append(args, "--replica-announce-ip", host, "--replica-announce-port", port)
	}
	return args
}
