package sim

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

// readLua reads one RESP2 reply as the value that redis.call gives a script: nil is false, a status is a table with ok, an
// error a table with err.
func readLua(l *lua.LState, r *bufio.Reader) (lua.LValue, error) {
	kind, rest, err := replyLine(r)
	if err != nil {
		return nil, err
	}
	switch kind {
	case '+':
		t := l.CreateTable(0, 1)
		t.RawSetString("ok", lua.LString(rest))
		return t, nil
	case '-':
		return errorTable(l, rest), nil
	case ':':
		n, err := strconv.ParseInt(rest, 10, 64)
		return lua.LNumber(n), err
	case '$':
		return readLuaBulk(r, rest)
	case '*':
		return readLuaArray(l, r, rest)
	}
	return nil, fmt.Errorf("reply type %q", kind)
}

func replyLine(r *bufio.Reader) (kind byte, rest string, err error) {
	line, err := r.ReadString('\n')
	if err != nil || len(line) < 3 {
		return 0, "", fmt.Errorf("reply line %q: %w", line, io.ErrUnexpectedEOF)
	}
	return line[0], line[1 : len(line)-2], nil
}

func readLuaBulk(r *bufio.Reader, size string) (lua.LValue, error) {
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 {
		return lua.LFalse, err
	}
	b := make([]byte, n+2)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	return lua.LString(b[:n]), nil
}

func readLuaArray(l *lua.LState, r *bufio.Reader, size string) (lua.LValue, error) {
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 {
		return lua.LFalse, err
	}
	t := l.CreateTable(n, 0)
	for range n {
		v, err := readLua(l, r)
		if err != nil {
			return nil, err
		}
		t.Append(v)
	}
	return t, nil
}

// writeLua writes what a script returned, by Redis' rules: true is 1, false and nil are null, numbers lose their fraction,
// an array ends at the first nil.
func writeLua(out *server.Peer, v lua.LValue) {
	switch v := v.(type) {
	case lua.LBool:
		if v {
			out.WriteInt(1)
			return
		}
		out.WriteNull()
	case lua.LNumber:
		out.WriteInt(int(v))
	case lua.LString:
		out.WriteBulk(string(v))
	case *lua.LTable:
		writeLuaTable(out, v)
	default:
		out.WriteNull()
	}
}

func writeLuaTable(out *server.Peer, t *lua.LTable) {
	if e := t.RawGetString("err"); e != lua.LNil {
		out.WriteError(e.String())
		return
	}
	if s := t.RawGetString("ok"); s != lua.LNil {
		out.WriteInline(s.String())
		return
	}
	n := 0
	for t.RawGetInt(n+1) != lua.LNil {
		n++
	}
	out.WriteLen(n)
	for i := range n {
		writeLua(out, t.RawGetInt(i+1))
	}
}
