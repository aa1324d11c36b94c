package main

import (
	"maps"
	"testing"
)

func TestLockSettingsOfACommandLine(t *testing.T) {
	tests := []struct {
		argv []string
		want map[string]string
	}{
		{[]string{"lockbench", "run", "--lock", "redsync"}, map[string]string{}},
		{[]string{"run", "--set", "lock.defaults=library", "--set", "lease=2s"}, map[string]string{"defaults": "library"}}, // the scenario's are in its file
		{[]string{"run", "--set=lock.a=b=c"}, map[string]string{"a": "b=c"}},
		{[]string{"run", "--set"}, map[string]string{}}, // cut short
	}
	for _, tt := range tests {
		if got := lockSettings(tt.argv); !maps.Equal(got, tt.want) {
			t.Errorf("%v: %v, want %v", tt.argv, got, tt.want)
		}
	}
}
