package servers_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// ownerEnv turns the test binary into an owner of servers that will be killed: see
// TestNothingOutlivesItsOwner.
const ownerEnv = "LOCKBENCH_TEST_OWNER"

func TestMain(m *testing.M) {
	if provider := os.Getenv(ownerEnv); provider != "" {
		own(provider)
	}
	goleak.VerifyTestMain(m)
}
