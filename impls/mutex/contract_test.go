package mutex

import (
	"testing"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/locktest/kit"
)

// exceptions are the rules of the conformance kit that variants break as their sources print them.
var exceptions = kit.Exceptions{
	Breaks: map[string][]string{
		// The release compares nothing, so a late or repeated one ends the next client's hold.
		"setnx":            {"loss-returns"},
		"exists-set":       {"loss-returns", "between-requests"}, // EXISTS, and then SET
		"lua-setnx-expire": {"late-release", "lost-release", "loss-returns"},
		"set-nx-ex":        {"late-release", "lost-release", "loss-returns"},
		// A second command, which may never be sent, sets the lease; getset-timestamp frees such a
		// key by the deadline in its value, a second later.
		"setnx-expire":     {"late-release", "lost-release", "loss-returns", "died-on-the-way", "lost-grant", "cancelled-request", "second-attempt"},
		"getset-timestamp": {"late-release", "lost-release", "loss-returns", "died-on-the-way", "lost-grant", "cancelled-request", "second-attempt"},
		// GET, and then DEL.
		"token-get-del": {"between-requests"},
		// The pattern does not read the clock after the reply.
		"token":        {"slow-reply"},
		"token-native": {"slow-reply"},
		// The handle ignores the reply of the release script.
		"token-session": {"late-release-fails"},
		// No writer is ever granted the lock.
		"lua-nil": append(kit.NeverGranted(), "closes", "dead-waiter", "waits-long", "second-attempt", "died-on-the-way", "keys-deleted", "late-release", "late-release-fails", "lease-ends", "lease-lasts", "lost-grant", "skewed-clock", "cancelled-request", "late-entry"),
	},
	May: map[string][]string{
		"exists-set": {"no-lost-update", "one-wins"}, // between EXISTS and SET
	},
}

func TestContract(t *testing.T) { kit.Run(t, append(Variants(), ServerVariants()...), exceptions) }

func TestContractOnRedis(t *testing.T) {
	all := Variants()
	for _, v := range ServerVariants() {
		if v.Topology == impls.Replicated { // the others need commands that redis-server 7 lacks
			all = append(all, v)
		}
	}
	kit.OnRedis(t, all, exceptions)
}
