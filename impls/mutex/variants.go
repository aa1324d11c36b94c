package mutex

import (
	"embed"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/expect"
	"github.com/lockbench/lockbench/verdicts"
)

//go:embed lua/*.lua
var lua embed.FS

// Variants lists the family in the order in which the sources improve on it. All are plain mutexes
// on one server.
func Variants() []impls.Variant {
	all := slices.Concat(blind(), tokens())
	for i := range all {
		all[i].Kind, all[i].Topology = history.Mutex, impls.Standalone
		if !all[i].Traits.NoLease {
			all[i].New = impls.Leased(all[i].New)
		}
	}
	return all
}

// blind lists the locks whose release deletes the key, whoever holds it.
func blind() []impls.Variant {
	return []impls.Variant{
		{
			Name: "exists-set", Summary: "EXISTS, and SET when the key is missing; DEL releases.",
			Source: impls.Source{Article: "Redis series 13", Where: "the simple idea"},
			Traits: impls.Traits{NoLease: true, MultiCommand: true},
			Claims: []impls.Claim{
				{Text: "Checking and taking in two commands lets another process in between: the lock is taken twice.", Holds: true, Command: impls.Command("exists-set", "contended")},
			},
			Expect: expectExistsSet(), New: existsSet.open,
		},
		{
			Name: "setnx", Summary: "SETNX; DEL releases; the key never expires.",
			Source: impls.Source{Article: "Redis series 13", Where: "atomicity"},
			Traits: impls.Traits{NoLease: true},
			Claims: []impls.Claim{
				{Text: "SETNX makes checking and taking one step, so one process at a time holds the lock.", Holds: true, Command: impls.Command("setnx", "contended")},
				{Text: "A process that dies while it holds locks all others out for ever.", Holds: true, Command: impls.Command("setnx", "crash-holder")},
			},
			Expect: expect.Unleased(), New: plainSetnx.open,
		},
		{
			Name: "setnx-expire", Summary: "SETNX, then EXPIRE in a command of its own; DEL releases.",
			Source: impls.Source{Article: "Optimising a Redis lock", Where: "first attempt; Redis series 13, the crash of a service"},
			Traits: impls.Traits{MultiCommand: true},
			Claims: []impls.Claim{
				{Text: "The lease frees the lock of a process that died holding it.", Holds: true, Command: impls.Command("setnx-expire", "crash-holder")},
				{Text: "A client that dies between SETNX and EXPIRE deadlocks all others for ever.", Holds: true, Command: impls.Command("setnx-expire", "crash-mid-acquire")},
			},
			Expect: expectSetnxExpire(), New: setnxExpire.open,
		},
		{
			Name:    "getset-timestamp",
			Summary: "SETNX of the client's own deadline, then EXPIRE; a key whose deadline is past is taken over by GETSET; DEL releases.",
			Source:  impls.Source{Article: "Optimising a Redis lock", Where: "the improved lock"},
			Traits:  impls.Traits{ClientClock: true, MultiCommand: true},
			Claims: []impls.Claim{
				{Text: "A crash between SETNX and EXPIRE no longer deadlocks: the deadline in the value frees the key.", Holds: true, Command: impls.Command("getset-timestamp", "crash-mid-acquire")},
				{Text: "A tolerance of one second covers the difference of the clients' clocks.", Holds: false, Command: impls.Command("getset-timestamp", "client-clock-skew")},
				{Text: "The release has a hole: work that outlasts the lease deletes another client's lock.", Holds: true, Command: impls.Command("getset-timestamp", "pause-holder")},
			},
			Expect: expectGetsetTimestamp(), New: getsetTimestamp.open,
		},
		{
			Name: "lua-nil", Summary: "A script that asks whether GET is nil before SETNX and EXPIRE; DEL releases.",
			Source:  impls.Source{Article: "Redis locks with Lua", Where: "simple lock, first listing"},
			Scripts: []*impls.Script{luaNilScript.Seconds},
			Claims: []impls.Claim{
				{Text: "The script takes the lock when the key is missing.", Holds: false, Command: impls.Command("lua-nil", "steady")},
			},
			Expect: expect.Never(), New: luaNil.open,
		},
		{
			Name: "lua-setnx-expire", Summary: "One script does SETNX and EXPIRE; DEL releases.",
			Source:  impls.Source{Article: "Optimising a Redis lock", Where: "the optimised lock"},
			Scripts: []*impls.Script{setnxExpireScript.Seconds},
			Claims: []impls.Claim{
				{Text: "One script leaves no moment in which a crash could leave a key without a lease.", Holds: true, Command: impls.Command("lua-setnx-expire", "crash-holder")},
				{Text: "A client that outlasts its lease deletes another client's lock.", Holds: true, Command: impls.Command("lua-setnx-expire", "pause-holder")},
			},
			Expect: expect.Blind().With(expect.Table{"script-flush": verdicts.Safe()}), New: luaSetnxExpire.open,
		},
		{
			Name: "set-nx-ex", Summary: "SET key 1 EX lease NX; DEL releases.",
			Source: impls.Source{Article: "Redis series 13", Where: "atomicity again"},
			Claims: []impls.Claim{
				{Text: "The options of SET make taking the lock and giving it a lease one step.", Holds: true, Command: impls.Command("set-nx-ex", "crash-holder")},
				{Text: "Work that outlasts the lease deletes the lock that another process holds by then.", Holds: true, Command: impls.Command("set-nx-ex", "pause-holder")},
			},
			Expect: expect.Blind(), New: setNxEx.open,
		},
	}
}
