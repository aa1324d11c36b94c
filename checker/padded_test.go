package checker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
)

// pads are lawful holds of a client of its own, n of them, from an instant on. Each takes a step.
func pads(n, from, step int) string {
	var b strings.Builder
	for i := range n {
		at := from + i*step
		fmt.Fprintf(&b, "p acquire %d %d ok\np release %d %d ok\n", at, at+1, at+2, at+4)
	}
	return b.String()
}

// renewals are extends of client c2 with token t, n of them, 5 ms apart.
func renewals(n, from int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "c2 extend %d %d ok token=t\n", from+5*i, from+5*i+1)
	}
	return b.String()
}

// fences are holds of a client, n of them, with fences from 10 on, 4 ms apart.
func fences(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "p acquire %d %d ok fence=%d\np release %d %d ok\n", 4*i, 4*i+1, 10+i, 4*i+2, 4*i+3)
	}
	return b.String()
}

// lost are replies to a client that it holds nothing, n of them, from an instant on, 1 ms apart.
func lost(n, from int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "n extend %d %d lost token=n\n", from+i, from+i)
	}
	return b.String()
}

// entries are entries of a client into a re-entrant lock, n of them, each left at once, from an instant on, 10 ms apart.
func entries(client string, n, from int) string {
	var b strings.Builder
	for i := range n {
		at := from + 10*i
		fmt.Fprintf(&b, "%s acquire %d %d ok token=t%d\n%s release %d %d ok token=t%d\n", client, at, at+1, at, client, at+2, at+3, at)
	}
	return b.String()
}

// outerLeft is a client that releases its outer hold before the inner, by b.
const outerLeft = `
	c1 acquire 0 1 ok token=a
	c1 acquire 2 3 ok token=b
	c1 release 4 5 ok token=a
`

// refusals are refusals of a client, n of them, from an instant on, 10 ms apart.
func refusals(client string, n, from int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s acquire %d %d busy\n", client, from+10*i, from+10*i+5)
	}
	return b.String()
}

// slowExtend is a hold that was renewed n times before an extend, and one that was refused meanwhile, beside a refusal of another client.
func slowExtend(n int) string {
	last := 1005 + 5*(n-1) + 1
	return "c2 acquire 1000 1001 ok token=t\n" + renewals(n, 1005) + fmt.Sprintf(`
		c1 acquire %d %d busy
		c2 extend %d %d lost token=t
		c2 extend %d %d ok token=t`, last+26, last+27, last+32, last+36, last+3, last+40)
}

// TestPaddedRecords: what follows, or precedes, at another time changes no verdict, though the record is then too long for an exact search of all of it.
func TestPaddedRecords(t *testing.T) {
	entered := history.Header{Kind: history.Reentrant}
	head := func(kind history.Kind) history.Header { return history.Header{Kind: kind, Lease: 20 * msec} }
	for _, row := range []struct {
		name string
		head history.Header
		ops  string
		want string // the properties that fail, linearizability included
	}{
		// The slow extend came before the refused one, and the lease that it began refused c1.
		{"a slow extend beside a refused one", head(history.Mutex), slowExtend(38), ""},
		{"the same of a hold that was renewed for long", head(history.Mutex), slowExtend(90), ""},
		// The extend renews what the acquire of unknown outcome was granted: the hold that c1 has not released was over long before.
		{"an extend of an acquire of unknown outcome after a hold that was not released", head(history.Mutex), `
			c1 acquire 1000 1005 ok
			` + pads(29, 1200, 10) + `
			c1 acquire 1510 1515 unknown
			c1 extend 1520 1524 ok`, ""},
		// The reply may mean the hold of 219, which c1 has not released.
		{"a reply without a token that may mean a hold which lapsed before", history.Header{Kind: history.Mutex, Lease: 3 * msec, ClockError: msec}, lost(40, 219) + `
			c1 acquire 219 223 ok
			c1 acquire 237 237 ok
			c1 release 238 239 not_held`, ""},
		{"the same after an acquire of unknown outcome", history.Header{Kind: history.Mutex, Lease: 3 * msec, ClockError: msec}, lost(40, 219) + `
			c2 acquire 210 211 unknown
			c1 acquire 219 223 ok
			c1 acquire 237 237 ok
			c1 release 238 239 not_held`, ""},
		// c1 is in by b, which its extend renewed, too.
		{"a refusal by an inner hold, whose outer one was extended and released", history.Header{Kind: history.Reentrant, Lease: 100 * msec}, entries("p", 18, 0) + `
			c1 acquire 300 301 ok token=a
			c1 acquire 310 311 ok token=b
			c1 extend 380 381 ok token=a
			c1 release 384 385 ok token=a
			c2 acquire 450 451 busy`, ""},
		// By the clocks, which may differ by more than all took, q may have come first.
		{"a small fence after more than are remembered, within the clock error", history.Header{Kind: history.Mutex, Lease: 20 * msec, ClockError: 100_000 * msec},
			fences(2100) + "q acquire 8402 8403 ok fence=5", ""},
		// The refusal may be due to a's votes. What it was granted it had released before c was granted anything.
		{"a refusal by the votes of a grant long before", history.Header{Kind: history.Mutex, Lease: 50 * msec, Votes: true}, `
			a acquire 0 46 ok token=a
			a release 46.5 47 ok token=a
			c acquire 47.2 48 ok token=c
			c release 49 50 ok token=c
			d acquire 60 61 ok token=d
			b acquire 80 81 busy
			d release 90 91 ok token=d
			` + lost(60, 52), ""},
		// Nothing was there to extend.
		{"the same without that acquire", head(history.Mutex), `
			c1 acquire 1000 1005 ok
			` + pads(29, 1200, 10) + `
			c1 extend 1520 1524 ok`, "release-safety linearizability"},
		// The first refusal needs c1's grant by 1473, the second not before 1478.
		{"a slow grant that would have to come at two times", head(history.Mutex), `
			c2 acquire 1000 1001 ok
			` + strings.ReplaceAll(renewals(90, 1005), " token=t", "") + `
			c2 release 1453 1454 ok
			c1 acquire 1455 1491 ok
			c3 acquire 1469 1470 busy
			c3 acquire 1496 1497 busy`, "linearizability refusal"},
		// c1 had released the hold with that fence.
		{"an equal fence of a new hold", head(history.Reentrant), `
			c2 acquire 1000 1003 unknown
			c1 acquire 1001 1006 ok fence=2
			c1 release 1008 1009 ok
			` + pads(20, 1150, 6) + `
			c1 acquire 1419 1425 ok fence=2`, "linearizability fencing-order"},
		{"a re-entry with an equal fence", history.Header{Kind: history.Reentrant, Lease: 20 * msec, Drift: 2 * msec}, pads(30, 1888, 4) + `
			c1 acquire 2008 2012 ok fence=1
			c1 acquire 2086 2094 ok fence=3
			c1 acquire 2105 2110 ok fence=3`, ""},
		// The inner release of c3 renewed what was granted at 352, which refused c1, and is gone when c3 releases at 521.
		{"a refusal by a hold that an inner release renewed", history.Header{Kind: history.Reentrant, Lease: 30 * msec}, `
			c2 release 178 191 not_held
			c1 acquire 179 188 ok
			c1 acquire 188 213 ok
			c2 acquire 227 257 ok
			c2 acquire 258 274 ok
			c2 acquire 277 295 ok
			c2 release 309 312 ok
			c2 extend 312 327 ok
			c2 release 338 348 ok
			c2 release 348 353 ok
			c3 acquire 352 359 ok
			c3 extend 374 383 ok
			c3 acquire 393 393 ok
			c3 acquire 398 398 ok
			c2 acquire 408 413 busy
			c3 release 408 413 ok
			c2 acquire 413 422 busy
			c1 acquire 435 447 busy
			c1 acquire 457 467 ok
			c1 acquire 467 467 ok
			c1 extend 467 479 ok
			c1 release 484 487 ok
			c1 extend 492 502 ok
			c1 release 507 519 ok
			c2 acquire 507 536 ok
			c3 release 521 533 not_held
			c2 extend 536 546 ok
			c2 acquire 551 556 ok
			c3 release 553 563 not_held
			c2 acquire 586 601 ok
			c2 release 616 619 ok
			c3 acquire 622 627 ok
			c3 release 636 650 ok
			c1 acquire 646 651 ok
			c3 acquire 650 667 ok
			c1 release 654 654 ok
			c3 extend 667 686 ok
			c3 acquire 698 703 ok
			c3 release 705 726 ok
			c2 acquire 718 736 ok
			c2 acquire 736 736 ok`, ""},
		// c2 was in when the fence was equal, by a hold that is over at the later replies.
		{"a re-entry with an equal fence before the replies that are searched", history.Header{Kind: history.Reentrant, Lease: 1000 * msec}, `
			c2 acquire 246.3 247.3 ok fence=1 token=Tc2
			c1 release 0.9 497.6 not_held token=Tc1
			c1 acquire 499.9 503.3 busy
			c2 acquire 248.9 533.5 ok fence=1 token=Tc2
			c1 release 503.3 555.3 not_held token=Tc1
			c1 acquire 556.1 559.9 busy
			c1 acquire 559.9 559.9 busy
			c1 acquire 560.9 563.2 busy
			c2 release 533.5 835.9 ok token=Tc2
			c2 acquire 838.6 839.6 ok fence=2 token=Tc2
			c1 acquire 1030.2 1389.5 busy
			c1 release 1390.5 1390.5 not_held token=Tc1
			c1 acquire 1392.3 1396 busy
			c1 acquire 1396 1396 busy
			c1 acquire 1396 1396.1 busy
			c1 acquire 1396.1 1398.1 busy
			c1 acquire 1398.1 1400.8 busy
			c1 acquire 1402.6 1402.6 busy
			c1 acquire 1403.2 1405.9 busy
			c1 acquire 1405.9 1406.9 busy
			c1 acquire 1406.9 1578.7 busy
			c1 acquire 1579.1 1579.1 busy
			c2 release 1160.6 1657.3 ok token=Tc2
			c2 acquire 1658.3 1662.4 ok fence=3 token=Tc2
			c2 release 1662.8 1691.7 ok token=Tc2
			c2 acquire 1692.6 1692.6 ok fence=3 token=Tc2
			c2 release 1692.6 1692.6 ok token=Tc2
			c2 release 1695.1 1696.1 ok token=Tc2
			c1 acquire 1581 1845.4 ok fence=4 token=Tc1
			c1 release 1846.1 1847.1 ok token=Tc1
			c2 acquire 1796.1 1990.6 ok fence=5 token=Tc2
			c2 release 1990.6 1992.6 ok token=Tc2
			c2 acquire 1994 2070.8 ok fence=6 token=Tc2
			c2 acquire 2071.8 2072.9 ok fence=7 token=Tc2
			c2 release 2073.9 2075.4 ok token=Tc2
			c1 acquire 1847.1 2099.1 busy
			c1 release 2099.9 2101.4 not_held token=Tc1
			c1 release 2102.4 2102.4 not_held token=Tc1
			c1 acquire 2102.4 2105.4 busy
			c1 acquire 2105.4 2105.4 busy
			c2 release 2075.4 2105.4 unknown token=Tc2`, ""},
		// The unknown acquire took effect at 1024 and refused all.
		{"refusals by an unknown acquire", history.Header{Kind: history.Mutex, Lease: 20 * msec, ClockError: 4 * msec}, `
			c1 acquire 1000 1001 unknown
			c1 acquire 1025 1026 busy
			c1 acquire 1031 1046 busy
			c2 acquire 1040 1050 busy
			c1 acquire 1048 1051 ok
			c1 release 1055 1058 ok
			c2 acquire 1058 1061 ok
			` + pads(30, 1300, 6), ""},
		{"a refusal that an unknown acquire would have to explain after another", head(history.Mutex), `
			c2 acquire 1002 1003 unknown
			c1 acquire 1004 1005 busy
			` + pads(20, 1150, 6) + `
			c1 acquire 1419 1420 busy`, "linearizability refusal"},
		// c1 is in by b all the time.
		{"refusals by a client that left its outer hold first", entered, outerLeft + entries("c1", 40, 1000) + refusals("c2", 2, 1500), ""},
		{"more of them than are shown", entered, outerLeft + entries("c1", 40, 1000) + refusals("c2", 30, 1500), ""},
		// Nobody is in.
		{"the same without b", entered, `
			c1 acquire 0 1 ok token=a
			c1 release 4 5 ok token=a
			` + entries("c1", 40, 1000) + refusals("c2", 2, 1500), "linearizability refusal"},
		// The release of a may come before or after the acquire of b; that of z, long before, may have come before its acquire, and be accepted for nothing.
		{"a refusal by a hold that began when another of its client ended, after one of no length", entered, `
			c2 acquire 0 0 ok token=z
			c2 release 0 0 ok token=z
			` + entries("c2", 40, 1000) + `
			c2 acquire 1500 1510 ok token=a
			c2 release 1520 1520 ok token=a
			c2 acquire 1520 1520 ok token=b
			c1 acquire 1530 1540 busy
			c2 release 1550 1560 ok token=b`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			ops := parse(t, row.ops)
			if len(ops) <= maxEffects {
				t.Fatalf("%d operations", len(ops))
			}
			if got := failing(verdictOf(t, Input{Header: row.head}, ops, Options{})); got != row.want {
				t.Errorf("%q fail, want %q", got, row.want)
			}
		})
	}
}

// TestLaterClockExcusesNothing: what is broken long before a server's clock is moved is found also if much follows.
func TestLaterClockExcusesNothing(t *testing.T) {
	for _, fault := range []string{faultDriftClock, faultJumpClock} {
		v := row{head: history.Header{Kind: history.RW, Lease: 50 * msec}, ops: `
			a acquire 0 1 ok shared token=a
			b acquire 2 3 ok shared token=b
			a release 11 12 ok token=a
			b release 29 30 not_held token=b
			` + pads(30, 1000, 10), extra: hitFrom(fault, 900, 900)}.check(t)
		if got := failing(v); got != "release-safety linearizability" {
			t.Errorf("%s: %s", fault, got)
		}
	}
}
