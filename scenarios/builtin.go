package scenarios

import (
	"embed"
	"errors"
	"fmt"
	"slices"
)

// errUnknown is returned if there is no built-in scenario of a name.
var errUnknown = errors.New("unknown scenario")

//go:embed builtin/*.yaml
var files embed.FS

// order is the order of the documentation. It names every file in builtin once.
var order = []string{
	"steady", "contended", "slow-work",
	"pause-holder", "pause-after-grant", "pause-before-release",
	"crash-holder", "crash-mid-acquire", "crash-waiter", "cancel-acquire", "client-clock-skew", "owner-collision",
	"lost-reply-acquire", "lost-reply-release", "lost-request", "slow-network", "blackhole-client", "partition-minority", "split-vote", "pubsub-cut",
	"kill-server", "restart-delayed", "pause-server", "failover", "clock-jump", "drift-clock", "script-flush", "key-deleted", "eviction", "cluster-slots",
	"nested", "pause-extend", "read-mostly", "crash-writer-waiting", "crash-reader", "crowd-of-readers", "several-permits", "crash-queue", "lost-release", "late-renewal",
	"long-lease", "give-up", "late-release", "late-notice", "late-write", "lost-reply-alone", "failover-held", "failover-at-once", "failover-behind", "cluster-failover", "sentinel-failover", "sentinel-partition", "late-outer-grant", "many-names", "restart-same-owner",
	"transfer", "lottery", "once-per-tick", "hot",
	"K1", "K2", "K3", "K4", "K5",
}

// Builtin returns the built-in scenarios in the order of the documentation.
func Builtin() (all []Scenario) {
	for _, name := range order {
		s, _ := load(name) // a test checks that there is no error
		all = append(all, s)
	}
	return all
}

func load(name string) (s Scenario, err error) {
	data, err := files.ReadFile("builtin/" + name + ".yaml")
	if err != nil {
		return s, fmt.Errorf("%w %q", errUnknown, name)
	}
	if s, err = Parse("builtin/"+name+".yaml", data); err == nil && s.Name != name {
		err = fmt.Errorf("builtin/%s.yaml is named %s", name, s.Name)
	}
	return s, err
}

// Find returns a built-in scenario by its name.
func Find(name string) (Scenario, bool) {
	if !slices.Contains(order, name) {
		return Scenario{}, false
	}
	s, err := load(name)
	return s, err == nil
}
