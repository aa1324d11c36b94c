package beyond

import (
	"testing"

	"github.com/lockbench/lockbench/locktest/kit"
)

// exceptions are the rules of the conformance kit that variants break as their sources print them.
var exceptions = kit.Exceptions{}

func TestContract(t *testing.T) { kit.Run(t, Variants(), exceptions) }

func TestContractOnRedis(t *testing.T) { kit.OnRedis(t, Variants(), exceptions) }
