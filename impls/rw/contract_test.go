package rw

import (
	"testing"

	"github.com/lockbench/lockbench/locktest/kit"
)

// exceptions are the rules of the conformance kit that variants break as their sources print them.
var exceptions = kit.Exceptions{
	Breaks: map[string][]string{
		// No writer is ever granted the lock.
		"rw-owner": append(kit.NeverGranted(), "readers-share", "readers-wake", "mixed-modes", "refused-reader"),
		// The script computes the names of its keys.
		"rw-owner-fixed": {"one-slot"},
		// One mark for all readers, two keys without a tag, DEL as a release.
		"rw-pair": {"late-release", "lost-release", "loss-returns", "one-slot", "reader-leaves-alone", "readers-share", "mixed-modes", "reader-lasts", "many-readers"},
		// One mark for all readers, the clients' clocks, and a release whose script answers
		// nothing. In virtual time a and b hold in the same millisecond, which makes their marks
		// the same. A lease of zero is the article's own.
		"rw-hash": {"late-release-fails", "lease-is-sane", "reader-leaves-alone", "skewed-clock", "slow-reply", "mixed-modes", "odd-leases", "reader-lasts", "many-readers"},
	},
	Virtual: map[string][]string{
		"rw-hash": {"lost-release", "loss-returns"}, // two marks of one millisecond are the same
	},
}

func TestContract(t *testing.T) { kit.Run(t, Variants(), exceptions) }

func TestContractOnRedis(t *testing.T) { kit.OnRedis(t, Variants(), exceptions) }
