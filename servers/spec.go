package servers

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/impls"
)

const (
	maxNodes      = 16
	sentinelNodes = 3 // a primary and two replicas
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
	if !slices.Contains([]impls.Persistence{impls.PersistNone, impls.PersistEverySec, impls.PersistAlways}, s.Persistence) {
		return s, fmt.Errorf("persistence %q: none, everysec or always", s.Persistence)
	}
	if s.DownAfter = cmp.Or(s.DownAfter, DefaultDownAfter); s.DownAfter < time.Millisecond {
		return s, fmt.Errorf("down after %v: at least a millisecond", s.DownAfter)
	}
	nodes, ok := map[impls.Topology]struct{ least, usual, most int }{
		impls.Standalone:  {1, 1, 1},
		impls.Sentinel:    {sentinelNodes, sentinelNodes, sentinelNodes},
		impls.Independent: {1, 5, maxNodes},
		impls.Replicated:  {2, 2, maxNodes},
		impls.Cluster:     {impls.ClusterMasters, impls.ClusterMasters, maxNodes},
	}[s.Topology]
	s.Nodes = cmp.Or(s.Nodes, nodes.usual)
	switch {
	case !ok:
		return s, fmt.Errorf("unknown topology %q", s.Topology)
	case nodes.least == nodes.most && s.Nodes != nodes.most:
		return s, fmt.Errorf("%d nodes: %s has %d", s.Nodes, s.Topology, nodes.most)
	case s.Nodes < nodes.least || s.Nodes > nodes.most:
		return s, fmt.Errorf("%d %s nodes: %d to %d", s.Nodes, s.Topology, nodes.least, nodes.most)
	}
	return s, nil
}

// args returns the arguments of a server that the others know by an address; "": by its own.
func (s Spec) args(known string) []string {
	args := []string{"--save", "", "--daemonize", "no", "--protected-mode", "no"}
	switch {
	case s.Persistence != impls.PersistNone:
		args = append(args, "--appendonly", "yes", "--appendfsync", string(s.Persistence))
	case s.Log:
		args = append(args, "--appendonly", "yes", "--appendfsync", "no")
	default:
		args = append(args, "--appendonly", "no")
	}
	if s.Log {
		args = append(args, logArgs...)
	}
	if s.MaxMemory > 0 {
		args = append(args, "--maxmemory", fmt.Sprint(s.MaxMemory), "--maxmemory-policy", "allkeys-lru")
	}
	if s.Topology == impls.Cluster {
		// Otherwise the cluster refuses every key while one master is down.
		args = append(args, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000",
			"--cluster-require-full-coverage", "no")
	}
	if s.Topology.Primaries(s.Nodes) < s.Nodes || known != "" {
		args = append(args, "--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0")
	}
	if s.MinReplicas > 0 {
		args = append(args, "--min-replicas-to-write", fmt.Sprint(s.MinReplicas), "--min-replicas-max-lag", "1")
	}
	if host, port, ok := strings.Cut(known, ":"); ok {
		args = append(args, "--replica-announce-ip", host, "--replica-announce-port", port)
	}
	return args
}
