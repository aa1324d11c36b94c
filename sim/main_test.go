package sim

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if IsWorker() {
		os.Exit(WorkerMain(os.Stdin, os.Stdout, withBad{}))
	}
	silenceRedisLog()
	goleak.VerifyTestMain(m)
}
