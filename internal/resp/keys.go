package resp

import (
	"slices"
	"strconv"
	"strings"
)

// run locates the keys of a command: every step-th argument from the first key up to last.
type run struct {
	last int // negative: counted from the end, -1 is the last argument
	step int
}

// runs has the commands with several keys at regular positions.
var runs = merge(
	keyRuns("COPY GEOSEARCHSTORE LCS LMOVE BLMOVE RENAME RENAMENX RPOPLPUSH BRPOPLPUSH SMOVE ZRANGESTORE", run{2, 1}),
	keyRuns(`DEL EXISTS MGET PFCOUNT PFMERGE SDIFF SDIFFSTORE SINTER SINTERSTORE SSUBSCRIBE SUNION SUNIONSTORE SUNSUBSCRIBE TOUCH UNLINK WATCH
		BITOP`, run{-1, 1}),
	keyRuns("BLPOP BRPOP BZPOPMAX BZPOPMIN", run{-2, 1}),
	keyRuns("MSET MSETNX", run{-1, 2}),
)

// stores has the commands in which the key of the result precedes the count of keys.
var stores = []string{"ZDIFFSTORE", "ZINTERSTORE", "ZUNIONSTORE"}

// counts has the commands with a count of keys, and the index of that argument.
var counts = map[string]int{"LMPOP": 1, "ZMPOP": 1, "SINTERCARD": 1, "ZDIFF": 1, "ZINTER": 1, "ZINTERCARD": 1, "ZUNION": 1, "BLMPOP": 2, "BZMPOP": 2}

// channels has the commands whose first argument is a channel or a pattern, which any node of a cluster accepts.
var channels = []string{"PUBLISH", "SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE"}

func keyRuns(names string, r run) map[string]run {
	all := map[string]run{}
	for name := range strings.FieldsSeq(names) {
		all[name] = r
	}
	return all
}

func merge(tables ...map[string]run) map[string]run {
	all := map[string]run{}
	for _, t := range tables {
		for name, r := range t {
			all[name] = r
		}
	}
	return all
}

// Keys returns the keys of a request, which determine the responsible node of a cluster. It is nil for a request without keys or with a wrong count of
// keys, and for commands whose keys follow options, such as XREAD.
func Keys(args []string) []string {
	c := commands[strings.ToUpper(args[0])]
	if at, ok := counts[strings.ToUpper(args[0])]; ok {
		return counted(args, at)
	}
	switch {
	case c.key == 0 || slices.Contains(channels, c.name):
		return nil
	case c.key == numKeys:
		return counted(args, 2)
	case slices.Contains(stores, c.name):
		if more := counted(args, 2); more != nil {
			return append([]string{args[1]}, more...)
		}
		return nil
	}
	r, ok := runs[c.name]
	if !ok {
		r = run{c.key, 1}
	}
	return r.of(args, c.key)
}

// of returns the keys of a run that begins at first.
func (r run) of(args []string, first int) []string {
	last := r.last
	if last < 0 {
		last += len(args)
	}
	if last >= len(args) {
		return nil
	}
	if r.step == 1 {
		return args[min(first, last+1) : last+1]
	}
	var keys []string
	for i := first; i <= last; i += r.step {
		keys = append(keys, args[i])
	}
	return keys
}

// counted returns the keys that follow their count, which is the argument at.
func counted(args []string, at int) []string {
	if len(args) <= at {
		return nil
	}
	n, err := strconv.Atoi(args[at])
	if err != nil || n < 1 || n > len(args)-at-1 {
		return nil
	}
	return args[at+1 : at+1+n]
}

// ScriptCall returns the keys and the other arguments of an EVAL or EVALSHA; nil if its count of keys is wrong.
func (r Request) ScriptCall() (keys, args []string) {
	const first = 3
	n, err := strconv.Atoi(string(r.Arg(first - 1)))
	if err != nil || n < 0 || n > r.Len()-first {
		return nil, nil
	}
	for i := first; i < r.Len(); i++ {
		args = append(args, string(r.Arg(i)))
	}
	return args[:n:n], args[n:]
}
