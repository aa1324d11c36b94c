package main

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/subject"
)

// Every lock can be made and described without its server, as a child must be able to.
func TestLocksNeedNoServerToBeDescribed(t *testing.T) {
	want := map[string]struct{ fence, renews, lease bool }{
		"etcd-mutex": {true, true, true}, "etcd-lease": {true, false, true}, "pg-advisory": {false, false, false}, "pg-row": {true, false, false}, "zk-lock": {true, true, true},
	}
	for name, make := range locks() {
		lock, err := make("127.0.0.1:1")(subject.Config{Key: "job", TTL: time.Second, Owner: "c1"})
		if err != nil {
			t.Fatal(name, err)
		}
		traits := subject.TraitsOf(lock)
		about := lock.(subject.Describer).Describe()
		got := struct{ fence, renews, lease bool }{traits.Fenced, false, true}
		for _, word := range about.Can {
			got.renews, got.lease = got.renews || word == "renew", got.lease && word != "no-lease"
		}
		if got != want[name] || about.Name == "" {
			t.Errorf("%s: %+v, want %+v", name, got, want[name])
		}
	}
}
