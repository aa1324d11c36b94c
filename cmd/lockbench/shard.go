package main

import "github.com/lockbench/lockbench/results"

// shardFlag is the value of --shard.
type shardFlag struct{ given *results.Shard }

// String gives the shard; "" for the whole.
func (f *shardFlag) String() string {
	if f.given == nil {
		return ""
	}
	return f.given.String()
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
