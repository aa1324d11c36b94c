package rw

import (
	"embed"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

//go:embed lua/*.lua
var lua embed.FS

// Variants lists the family in the order of the sources.
func Variants() []impls.Variant {
	printed, meant := scripts("owner_read.lua", "owner_write.lua"), scripts("owner_fixed_read.lua", "owner_fixed_write.lua")
	ownerRelease := scripts("owner_read_release.lua", "owner_write_release.lua")
	pairs := scripts("pair_read.lua", "pair_write.lua")
	marks, marksRelease := scripts("hash_read.lua", "hash_write.lua"), scripts("hash_read_release.lua", "hash_write_release.lua")
	return []impls.Variant{
		{
			Name: "rw-owner", Summary: "Scripts over a hash of readers and a string for the writer, no lease; it takes 0 readers for readers, so that no writer is granted.",
			Kind: history.RW, Topology: impls.Standalone,
			Source:  impls.Source{Article: "Redis locks with Lua", Where: "read-write lock, as printed"},
			Traits:  impls.Traits{NoLease: true, Shared: true},
			Scripts: []*impls.Script{printed.shared, printed.exclusive, ownerRelease.shared, ownerRelease.exclusive},
			Claims: []impls.Claim{
				{Text: "A writer gets the lock when nobody reads.", Holds: false, Command: command("rw-owner", "steady")},
				{Text: "Many may read at once.", Holds: true, Command: command("rw-owner", "contended")},
			},
			Expect: expectOwner(), Derives: ownerKeys{}, New: owner(printed, ownerRelease).open,
		},
		{
			Name: "rw-owner-fixed", Summary: "As rw-owner was meant: a writer is granted if there are 0 readers, and a reader may read again.",
			Kind: history.RW, Topology: impls.Standalone,
			Source:  impls.Source{Article: "Redis locks with Lua", Where: "read-write lock, as meant"},
			Traits:  impls.Traits{NoLease: true, Shared: true},
			Scripts: []*impls.Script{meant.shared, meant.exclusive, ownerRelease.shared, ownerRelease.exclusive},
			Claims: []impls.Claim{
				{Text: "Many may read at once, one may write, and never both.", Holds: true, Command: command("rw-owner-fixed", "contended")},
				{Text: "Only its owner takes a hold away.", Holds: true, Command: command("rw-owner-fixed", "pause-before-release")},
				{Text: "The lock comes free when a holder dies.", Holds: false, Command: command("rw-owner-fixed", "crash-holder")},
			},
			Expect: expectOwnerFixed(), Derives: ownerKeys{}, New: owner(meant, ownerRelease).open,
		},
		{
			Name: "rw-pair", Summary: "One leased mark for all readers and one for the writer, in two keys; DEL releases.",
			Kind: history.RW, Topology: impls.Standalone,
			Source:  impls.Source{Article: "Redis read-write locks", Where: "single-node edition"},
			Traits:  impls.Traits{Shared: true},
			Scripts: []*impls.Script{pairs.shared, pairs.exclusive},
			Claims: append(rowsOf004("rw-pair", false),
				impls.Claim{Text: "A hold that is read again lasts until its last release.", Holds: false, Command: command("rw-pair", "contended")},
				impls.Claim{Text: "On a cluster the two keys may lie in two places, and then the scripts do not run.", Holds: true, Command: command("rw-pair", "cluster-slots")},
				impls.Claim{Text: "One reader may delete the mark of another.", Holds: true, Command: command("rw-pair", "contended")},
			),
			Expect: expectPair(), New: impls.Leased(pair(pairs)),
		},
		{
			Name: "rw-hash", Summary: "One hash with the client's time for the readers and one for the writer, judged by each client's own time-outs; release compares the time.",
			Kind: history.RW, Topology: impls.Standalone,
			Source:  impls.Source{Article: "Redis read-write locks", Where: "cluster edition"},
			Traits:  impls.Traits{Shared: true, Validity: true, ClientClock: true},
			Scripts: []*impls.Script{marks.shared, marks.exclusive, marksRelease.shared, marksRelease.exclusive},
			Claims: append(rowsOf004("rw-hash", true),
				impls.Claim{Text: "A hold that is read again lasts until its last release.", Holds: false, Command: command("rw-hash", "contended")},
				impls.Claim{Text: "All its state is one key, so that it runs on a cluster.", Holds: true, Command: command("rw-hash", "cluster-slots")},
			),
			Expect: expectHash(), New: hash(marks, marksRelease).open,
		},
	}
}

func command(lock, scenario string) string {
	return impls.Command(lock, scenario) + " --workload read-mostly"
}

// rowsOf004 are the rows of the comparison table in article 004, for one of its two columns.
// onlyOwner is the second row's entry: "no" for the pair, which is true, and "yes" for the hash,
// which is false: readers of the same millisecond, or one after the other, share a mark and can
// delete it.
func rowsOf004(lock string, onlyOwner bool) []impls.Claim {
	second := impls.Claim{Text: "A lock can be deleted by others than its owner.", Holds: true, Command: command(lock, "contended")}
	if onlyOwner {
		second = impls.Claim{Text: "A lock can be deleted only by its owner.", Holds: false, Command: command(lock, "contended")}
	}
	return []impls.Claim{
		{Text: "A client that reads may acquire for reading again.", Holds: true, Command: command(lock, "steady")},
		second,
		{Text: "A hold ends by itself after a time-out.", Holds: true, Command: command(lock, "crash-holder")},
		{Text: "A client that writes may not acquire for writing again.", Holds: true, Command: impls.Command(lock, "steady") + " --workload nested"},
	}
}
