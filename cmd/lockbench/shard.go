package main

import (
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/sim"
)

type shardFlag struct{ given *results.Shard }

// String returns the shard; "" for the whole.
func (f *shardFlag) String() string {
	if f.given == nil {
		return ""
	}
	return f.given.String()
}

// ofSchedules returns the shard of a search; the zero value without --shard.
func (f *shardFlag) ofSchedules() sim.Shard {
	if f.given == nil {
		return sim.Shard{}
	}
	return sim.Shard{Index: f.given.Index, Count: f.given.Count}
}

// Type names the value in help texts.
func (f *shardFlag) Type() string { return "i/n" }

// Set reads "3/8".
func (f *shardFlag) Set(text string) error {
	s, err := results.ParseShard(text)
	if err == nil {
		f.given = &s
	}
	return err
}
