package reentrant

import (
	"testing"

	"github.com/lockbench/lockbench/locktest/kit"
)

// exceptions are the rules of the conformance kit that variants break as their sources print them.
var exceptions = kit.Exceptions{
	Breaks: map[string][]string{
		// The handle ignores the reply of the release script. The loop of watchdog-bounded renews
		// after each whole lease, on a flag of the object that serves all keys.
		"reentrant-local":  {"late-release-fails", "late-entry"},
		"watchdog-bounded": {"late-release-fails", "renews", "renewal-fails", "renews-own", "slow-renewals", "renewed-again", "late-entry", "one-of-two"},
	},
}

func TestContract(t *testing.T) { kit.Run(t, Variants(), exceptions) }

func TestContractOnRedis(t *testing.T) { kit.OnRedis(t, Variants(), exceptions) }
