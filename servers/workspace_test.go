package servers

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A directory is swept if it is lockbench's, old enough, and its lock is free.
func TestSweep(t *testing.T) {
	base := t.TempDir()
	old, young := time.Now().Add(-time.Hour), time.Now()
	rows := []struct {
		name  string
		made  time.Time
		held  bool
		swept bool
	}{
		{workspacePrefix + "dead", old, false, true},   // its owner is dead
		{workspacePrefix + "alive", old, true, false},  // its owner holds the lock
		{workspacePrefix + "new", young, false, false}, // its owner may be about to take the lock
		{"somebody-elses", old, false, false},          // not lockbench's
	}
	for _, row := range rows {
		dir := filepath.Join(base, row.name)
		if err := os.MkdirAll(filepath.Join(dir, "node-0"), 0o700); err != nil {
			t.Fatal(err)
		}
		if row.held {
			lock, err := holdLock(filepath.Join(dir, lockFile))
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
		}
		if err := os.Chtimes(dir, row.made, row.made); err != nil {
			t.Fatal(err)
		}
	}
	sweep(base, time.Now().Add(-workspaceGrace))
	for _, row := range rows {
		_, err := os.Stat(filepath.Join(base, row.name))
		if swept := os.IsNotExist(err); swept != row.swept {
			t.Errorf("%s: swept %v, want %v", row.name, swept, row.swept)
		}
	}
}
