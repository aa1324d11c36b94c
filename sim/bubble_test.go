package sim

import (
	"strings"
	"testing"
)

// The stacks of a subscription that was closed while its reader reconnected, shortened.
const (
	closing = `goroutine 45437 [sync.Mutex.Lock, 1 minutes, synctest bubble 2182]:
internal/sync.(*Mutex).lockSlow(0x19eebe140918)
	/usr/local/go/src/internal/sync/mutex.go:149 +0x15d
sync.(*Mutex).Lock(...)
	/usr/local/go/src/sync/mutex.go:46
github.com/redis/go-redis/v9.(*PubSub).Close(0x19eebe140900)
	/go/pkg/mod/github.com/redis/go-redis/v9@v9.23.0/pubsub.go:213 +0x4d
github.com/lockbench/lockbench/impls/wake.(*Listener).Close(0x19eebdd0b180)
	/lockbench/impls/wake/wake.go:75 +0x99
created by sync.(*WaitGroup).Go in goroutine 45434
	/usr/local/go/src/sync/waitgroup.go:238 +0x73`
	reading = `goroutine 45443 [chan receive (durable), synctest bubble 2182]:
github.com/lockbench/lockbench/sim.(*conn).Read(0x19eebe25eea0, {0x19eebdd76000, 0x8000, 0x8000})
	/lockbench/sim/network.go:162 +0x65
github.com/redis/go-redis/v9.(*PubSub).reconnect(0x19eebe140900, {0x1890288, 0x19eebe004e10})
	/go/pkg/mod/github.com/redis/go-redis/v9@v9.23.0/pubsub.go:200 +0x2fe`
	driving = `goroutine 45434 [synctest.Wait (durable), synctest bubble 2182]:
internal/synctest.Wait()
	/usr/local/go/src/runtime/synctest.go:298 +0x78
testing/synctest.Wait(...)
	/usr/local/go/src/testing/synctest/synctest.go:310`
	elsewhere = `goroutine 5 [running, synctest bubble 2181]:
main.spin()
	/main.go:1 +0x1`
	outside = `goroutine 1 [chan receive, 1 minutes]:
main.main()
	/main.go:9 +0x1`
)

// TestStandstill: a bubble stands still if one of its goroutines waits for a mutex and all others
// wait too, whatever goroutines outside do.
func TestStandstill(t *testing.T) {
	changed := func(state string) string { return strings.Replace(reading, "chan receive (durable)", state, 1) }
	of := func(parent, stack string) string {
		created, _, _ := strings.Cut(stack, "\ncreated by")
		return created + "\ncreated by main.lock in goroutine " + parent + "\n	/lock.go:1 +0x1"
	}
	client := func(number string) string {
		return "goroutine " + number + " [sync.WaitGroup.Wait (durable), synctest bubble 2182]:\nsim.(*client).runGuarded(0x1, 0x2)\n	/client.go:1 +0x1"
	}
	rows := []struct {
		what   string
		stacks []string
		stuck  bool
		kept   bool
	}{
		{"a mutex and a read", []string{outside, elsewhere, reading, driving, closing}, true, true},
		{"a mutex for readers", []string{strings.Replace(closing, "sync.Mutex.Lock", "sync.RWMutex.RLock", 1), driving}, true, false},
		{"the reader runs", []string{closing, changed("running"), driving}, false, false},
		{"the reader is about to run", []string{closing, changed("runnable"), driving}, false, false},
		{"somebody from outside may wake the reader", []string{closing, changed("chan receive"), driving}, false, false},
		{"another client's goroutine reads", []string{of("9", closing), client("9"), of("10", reading), client("10"), driving}, true, false},
		{"its own goroutine reads", []string{of("9", closing), client("9"), of("9", reading), client("10"), driving}, true, true},
		{"nobody waits for a mutex", []string{outside, reading, driving}, false, false},
	}
	for _, row := range rows {
		if s := lookAtBubble(strings.Join(row.stacks, "\n\n")+"\n", "2182"); s.stuck != row.stuck || s.kept != row.kept {
			t.Errorf("%s: %+v, want stuck %v, kept %v", row.what, s, row.stuck, row.kept)
		}
	}
	want := `sync.Mutex.Lock:
  redis/go-redis/v9.(*PubSub).Close (pubsub.go:213)
  lockbench/lockbench/impls/wake.(*Listener).Close (wake.go:75)

chan receive (durable):
  lockbench/lockbench/sim.(*conn).Read (network.go:162)
  redis/go-redis/v9.(*PubSub).reconnect (pubsub.go:200)
`
	if s := lookAtBubble(strings.Join(rows[0].stacks, "\n\n"), "2182"); s.where != want {
		t.Errorf("it is told as\n%s\nwant\n%s", s.where, want)
	}
}
