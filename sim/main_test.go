package sim

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/internal/upstream"
)

func TestMain(m *testing.M) {
	if IsWorker() {
		os.Exit(WorkerMain(os.Stdin, os.Stdout, withBad{}))
	}
	upstream.SilenceRedisLog()
	goleak.VerifyTestMain(m)
}
