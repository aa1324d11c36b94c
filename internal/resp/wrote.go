package resp

// Wrote tells whether a command that writes changed anything, as far as its reply tells: not when it is an error, not when a SET
// with a condition answers null, not when a command that counts what it did answers 0. A script may have done anything: only
// an error says that it was not run. name is in upper case.
func Wrote(name string, r Reply) bool {
	if !IsWrite(name) || r.IsError() {
		return false
	}
	switch name {
	case "SET":
		return !r.IsNil()
	case "SETNX", "DEL", "UNLINK", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "PERSIST", "HDEL", "HSETNX", "ZREM", "SREM",
		"MSETNX", "MSETEX", "RENAMENX", "DELEX", "DELIFEQ":
		return string(r.Str()) != "0"
	}
	return true
}
