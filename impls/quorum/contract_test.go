package quorum

import (
	"testing"

	"github.com/lockbench/lockbench/locktest"
	"github.com/lockbench/lockbench/locktest/kit"
)

// exceptions are the rules of the conformance kit that variants break as their sources print them.
var exceptions = kit.Exceptions{}

func TestContract(t *testing.T) { kit.Run(t, Variants(), exceptions) }

func TestContractOnRedis(t *testing.T) { kit.OnRedis(t, Variants(), exceptions) }

// TestQuorumMasksOfThreeNodes repeats TestContract with three nodes: a majority that is hard-coded
// for five nodes fails here.
func TestQuorumMasksOfThreeNodes(t *testing.T) {
	kit.Run(t, Variants(), exceptions, locktest.Nodes(3), locktest.Only("quorum"))
}
