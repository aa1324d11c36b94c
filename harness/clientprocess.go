package harness

import (
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/faults/inject"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/subject"
	"github.com/lockbench/lockbench/workloads"
)

// ClientVariable is the environment variable that makes the program the process of a client: main
// calls ClientMain with its value and exits if it is set.
const ClientVariable = "LOCKBENCH_CLIENT"

// ClientMain serves a lock of the catalogue to one client of a run in another process, as a child
// of --exec does, until its input ends.
func ClientMain(lock string) error {
	v, ok := catalogue.Find(lock)
	if !ok {
		return fmt.Errorf("client process: lock %q is not known", lock)
	}
	var addrs []string
	var nodes []redis.UniversalClient // end with the process
	shared := &impls.Shared{}
	return subject.ServeAs(describe(v), func(cfg subject.Config) (any, error) {
		if !slices.Equal(addrs, cfg.Addrs) {
			topology := impls.Standalone
			switch {
			case cfg.Master != "":
				topology = impls.Sentinel
			case cfg.Cluster:
				topology = impls.Cluster
			}
			addrs = cfg.Addrs
			nodes, _ = workloads.ConnectNodes(workloads.Access{Addrs: addrs, Dial: cfg.Dial, Timeout: replyTimeout(cfg.TTL)}, topology)
		}
		return v.New(impls.Env{
			Key: cfg.Key, Owner: cfg.Owner, Lease: cfg.TTL, Poll: cfg.Poll, Permits: cfg.Permits, Addrs: addrs, Master: cfg.Master,
			Nodes: nodes, Dial: cfg.Dial, Clock: inject.NewGoroutine().Clock(cfg.Skew), Rand: rand.Reader, OnRenew: cfg.Renewed, Shared: shared,
		})
	})
}

// describe returns what the process of a client says of a lock, which its run knows already.
func describe(v impls.Variant) subject.Description {
	about := subject.Description{Name: v.Name, Can: []string{subject.CanCancel, subject.CanSentinel, subject.CanCluster}}
	if v.Traits.NotifiesLoss {
		about.Can = append(about.Can, "lost")
	}
	return about
}

// inProcesses returns the experiment with the command of its clients' processes, if they are such.
func (e Experiment) inProcesses() (Experiment, error) {
	switch {
	case e.As != Processes || Simulates(e.Provider):
		return e, nil
	case e.Subject.Exec != "":
		return e, fmt.Errorf("clients as processes: %w: the lock is a process of its own already", ErrUsage)
	}
	self, err := os.Executable()
	if err != nil {
		return e, err
	}
	e.Subject.Exec = fmt.Sprintf("export %s=%s; exec '%s'", ClientVariable, e.Variant.Name, strings.ReplaceAll(self, "'", `'\''`))
	e.Subject.About = describe(e.Variant)
	return e, nil
}
