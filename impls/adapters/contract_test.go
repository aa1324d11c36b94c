package adapters

import (
	"testing"

	"github.com/lockbench/lockbench/locktest/kit"
)

// exceptions are the rules of the conformance kit that variants break as their sources print them.
var exceptions = kit.Exceptions{
	Breaks: map[string][]string{
		// By default it tries once and does not wait.
		"redislock": {"clean", "dead-waiter", "deadline", "keys-deleted", "no-lost-update", "waits", "two-waits", "released-between"},
		// Three keys without a tag by default; the context reports the loss of a hold, the release
		// does not; a lost reply is "held by others"; a release does not report whether it worked;
		// and it learns late of a loss.
		"rueidislock":            {"late-release-fails", "lost-grant", "one-slot", "no-answer"},
		"rueidislock-normalised": {"late-release-fails", "lost-grant", "no-answer"},
	},
	Virtual: map[string][]string{
		"rueidislock":            {"release-frees", "loss-in-time"},
		"rueidislock-normalised": {"release-frees", "loss-in-time"},
	},
	// These depend on the library's own times and on the load of the machine: redsync polls every
	// 50 to 250 ms, rueidislock gives up a request after 20 ms, and with one key each renewal may
	// cause the next and wake the waiter, if its invalidation arrives before the reply.
	May: map[string][]string{
		"redsync":                {"died-on-the-way", "lost-grant", "dead-waiter", "lease-ends", "keys-deleted", "deadline"},
		"redislock":              {"died-on-the-way", "lost-grant"},
		"rueidislock":            {"died-on-the-way", "valid-until", "dead-waiter", "lease-ends", "keys-deleted", "slow-reply", "slow-renewals", "scripts-forgotten", "bounded-requests", "loss-in-time"},
		"rueidislock-normalised": {"died-on-the-way", "valid-until", "bounded-requests", "loss-in-time"},
	},
}

func TestContract(t *testing.T) { kit.Run(t, Variants(), exceptions) }

func TestContractOnRedis(t *testing.T) { kit.OnRedis(t, Variants(), exceptions) }
