package fakeredis

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/internal/resp"
)

// Redis and miniredis read arguments differently. A node passes them on as Redis reads them,
// answers what Redis refuses, and refuses what it cannot do.

// argumentError returns the error for arguments that miniredis accepts and Redis does not; "" if
// there are none.
func (n *Node) argumentError(name string, args []string) string {
	switch name {
	case "INCR", "INCRBY", "DECR", "DECRBY", "HINCRBY":
		return n.counterError(name, args)
	case "SET":
		return n.setError(args[3:])
	case "SETEX", "PSETEX", "EXPIRE", "PEXPIRE", "EXPIREAT":
		return n.leaseError(name, name[0] != 'P', args[2])
	case "LMOVE":
		if !isSide(args[3]) || !isSide(args[4]) {
			return "ERR syntax error"
		}
	case "SELECT":
		if number, err := strconv.Atoi(args[1]); err == nil && number != 0 {
			return "ERR DB index is out of range"
		}
	case "SETRANGE":
		if at, err := strconv.Atoi(args[2]); err == nil && at > longestText {
			return n.refuse("SETRANGE beyond what a value may have")
		}
	case "PING":
		if len(args) > 1 && args[1] == "" {
			return n.refuse("PING with an empty text")
		}
	case "GETEX":
		return n.getexError(args)
	case "ZADD", "ZINCRBY":
		for i := len(args) - 2; i > 1; i -= 2 {
			if f, ok := decimal(args[i]); ok && f == 0 && math.Signbit(f) {
				return n.refuse("a score of -0")
			}
		}
		if hasWord(args[2:], "INCR") && (hasWord(args[2:], "GT") || hasWord(args[2:], "LT")) {
			return n.refuse("ZADD INCR with GT or LT")
		}
	case "ZRANGE":
		if twice(args[4:], "REV") || twice(args[4:], "BYSCORE") || twice(args[4:], "BYLEX") {
			return "ERR syntax error"
		}
	}
	return ""
}

func (n *Node) counterError(name string, args []string) string {
	if name == "HINCRBY" {
		switch value := n.redis.HGet(args[1], args[2]); {
		case notInteger(value):
			return "ERR hash value is not an integer"
		case overflows(value, args[3]):
			return "ERR increment or decrement would overflow"
		}
		return ""
	}
	if text, err := n.redis.Get(args[1]); err == nil && notInteger(text) {
		return "ERR value is not an integer or out of range"
	}
	if name == "DECRBY" && args[2] == strconv.Itoa(math.MinInt64) {
		return "ERR decrement would overflow"
	}
	return ""
}

func (n *Node) getexError(args []string) string {
	if kind := n.redis.DB(0).Type(args[1]); kind != "" && kind != "string" { // miniredis sets the lease all the same
		if r, _ := resp.ParseReply(n.alone(slices.Concat([]string{"GETEX", missing}, args[2:]))); r.IsError() {
			return "ERR syntax error"
		}
		return msgWrongType
	}
	if persists := twice(args[2:], "PERSIST"); persists || len(args) == 4 && strings.HasSuffix(strings.ToUpper(args[2]), "XAT") {
		return n.refuse("GETEX " + strings.ToUpper(args[2]))
	}
	if len(args) == 4 && n.redis.Exists(args[1]) {
		return n.leaseError("GETEX", strings.EqualFold(args[2], "EX"), args[3])
	}
	return ""
}

// missing is a key that no node has.
const missing = "\x00"

// msgWrongType is the error for a key of another type.
const msgWrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"

const longestText = 512 << 20

func twice(words []string, option string) bool {
	first := slices.IndexFunc(words, func(word string) bool { return strings.EqualFold(word, option) })
	return first >= 0 && hasWord(words[first+1:], option)
}

func hasWord(words []string, option string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(word, option) })
}

func isSide(word string) bool {
	return strings.EqualFold(word, "LEFT") || strings.EqualFold(word, "RIGHT")
}

// notInteger reports whether a text parses as a whole number here but not in Redis, such as 010.
func notInteger(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil && text != "0" && (text[0] == '+' || strings.TrimPrefix(text, "-")[0] == '0')
}

// overflows reports whether a whole number, or none for 0, leaves the numbers of 64 bits when
// another is added.
func overflows(value, by string) bool {
	old, err := strconv.ParseInt(cmp.Or(value, "0"), 10, 64)
	delta, none := strconv.ParseInt(by, 10, 64)
	return err == nil && none == nil && (delta > 0 && old > math.MaxInt64-delta || delta < 0 && old < math.MinInt64-delta)
}

// integers has the arguments that Redis reads as whole numbers, by command: for it 01, +1 and -0
// are none.
var integers = map[string][]int{
	"EXPIRE": {2}, "PEXPIRE": {2}, "EXPIREAT": {2}, "PEXPIREAT": {2}, "SETEX": {2}, "PSETEX": {2}, "SELECT": {1}, "LINDEX": {2}, "LSET": {2}, "LREM": {2},
	"WAIT": {1, 2}, "LPOP": {2}, "RPOP": {2}, "ZPOPMIN": {2}, "ZPOPMAX": {2}, "LMPOP": {1}, "INCRBY": {2}, "DECRBY": {2}, "HINCRBY": {3}, "SETRANGE": {2},
	"GETRANGE": {2, 3}, "LRANGE": {2, 3}, "LTRIM": {2, 3}, "ZREVRANGE": {2, 3}, "ZREMRANGEBYRANK": {2, 3},
}

// options has the commands with options of counted, with the first argument that may be one.
var options = map[string]int{"SET": 3, "GETEX": 2, "LPOS": 3, "LMPOP": 3, "ZRANGE": 4, "ZRANGEBYSCORE": 4, "ZREVRANGEBYSCORE": 4}

// counted has the options that a whole number follows, or two.
var counted = map[string]int{"EX": 1, "PX": 1, "EXAT": 1, "PXAT": 1, "COUNT": 1, "RANK": 1, "MAXLEN": 1, "LIMIT": 2}

// looksFirst has the commands for which Redis looks at the key before it reads a number, with the
// type that the key must have.
var looksFirst = map[string]string{"LINDEX": "list", "LSET": "list", "GETEX": "string"}

// asRedisReads returns the arguments with "none" for what only miniredis takes for a whole number,
// and a right one where Redis does not read it.
func (n *Node) asRedisReads(name string, args []string) []string {
	at := integers[name]
	if name == "ZRANGE" && !hasWord(args[4:], "BYSCORE") && !hasWord(args[4:], "BYLEX") {
		at = []int{2, 3}
	}
	if first, has := options[name]; has {
		at = slices.Clip(at)
		for i := first; i < len(args); i++ {
			if len(args[i]) > len("MAXLEN") {
				continue
			}
			for k := range counted[strings.ToUpper(args[i])] {
				at = append(at, i+1+k)
			}
		}
	}
	args = scoresAsRead(name, args)
	if name == "LREM" && args[2] == strconv.Itoa(math.MinInt64) {
		args = slices.Clone(args)
		args[2] = strconv.Itoa(-math.MaxInt64) // all of them, too
	}
	want, looks := looksFirst[name]
	unread := looks && n.redis.DB(0).Type(args[1]) != want
	for _, i := range at {
		if i >= len(args) {
			continue
		}
		word := args[i]
		if notInteger(word) {
			word = "none"
		}
		if unread {
			word = "1"
		}
		if word != args[i] {
			args = slices.Clone(args)
			args[i] = word
		}
	}
	return args
}

// scoresAsRead writes scores that C reads and Go does not, such as 0x10, as Go does, and makes none
// of nan.
func scoresAsRead(name string, args []string) []string {
	from, to, step := 2, min(3, len(args)-1), 1
	switch name {
	case "ZINCRBY":
		to = 2
	case "ZADD":
		from, to, step = 2+len(args)%2, len(args)-2, 2 // options may come first
	case "ZRANGE":
		if !hasWord(args[4:], "BYSCORE") {
			return args
		}
	case "ZCOUNT", "ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZREMRANGEBYSCORE":
	default:
		return args
	}
	for i := from; i <= to; i += step {
		text := strings.TrimPrefix(args[i], "(")
		f, ok := decimal(text)
		if _, err := strconv.ParseFloat(text, 64); !ok || err == nil && !math.IsNaN(f) {
			continue
		}
		args = slices.Clone(args)
		if number := strconv.FormatFloat(f, 'g', -1, 64); math.IsNaN(f) {
			args[i] = "none"
		} else {
			args[i] = strings.TrimSuffix(args[i], text) + number
		}
	}
	return args
}

func (n *Node) setError(options []string) string {
	given := map[string]bool{} // an option may be there twice, but not two of a kind
	for i, word := range options {
		switch word = strings.ToUpper(word); word {
		case "NX", "XX", "KEEPTTL":
			given[word] = true
		case "EX", "PX", "EXAT", "PXAT":
			given[word] = true
			if i+1 == len(options) {
				continue
			}
			if word == "PXAT" && tooLong(false, options[i+1]) {
				return n.refuse("SET PXAT " + options[i+1])
			}
			if text := n.leaseError("SET", word[0] == 'E', options[i+1]); text != "" {
				return text
			}
		}
	}
	conditions := boolInt(given["NX"]) + boolInt(given["XX"])
	if conditions > 1 || len(given)-conditions > 1 {
		return "ERR syntax error"
	}
	return ""
}

// leaseError returns the error for a lease in seconds or milliseconds that is too long; "" if it is
// not. A time.Duration has 292 years.
func (n *Node) leaseError(name string, seconds bool, lease string) string {
	if tooLong(seconds, lease) {
		return "ERR invalid expire time in '" + strings.ToLower(name) + "' command"
	}
	unit := int64(time.Millisecond)
	if seconds {
		unit = int64(time.Second)
	}
	if number, err := strconv.ParseInt(lease, 10, 64); err == nil && number > math.MaxInt64/unit {
		return n.refuse("a lease of 292 years")
	}
	return ""
}

// tooLong reports whether a lease in seconds or milliseconds ends when Redis can count no more
// milliseconds.
func tooLong(seconds bool, text string) bool {
	const century = 100 * 365 * 24 * 3600 * 1000 // longer than from 1970 to now
	number, err := strconv.ParseInt(text, 10, 64)
	if seconds {
		return err == nil && (number > (math.MaxInt64-century)/1000 || number < math.MinInt64/1000)
	}
	return err == nil && number > math.MaxInt64-century
}
