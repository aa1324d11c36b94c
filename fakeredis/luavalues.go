package fakeredis

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

func stringTable(l *lua.LState, items []string) *lua.LTable {
	t := l.CreateTable(len(items), 0)
	for _, s := range items {
		t.Append(lua.LString(s))
	}
	return t
}

func errorTable(l *lua.LState, text string) *lua.LTable { return tableOf(l, "err", text) }

func tableOf(l *lua.LState, name, text string) *lua.LTable {
	t := l.CreateTable(0, 1)
	t.RawSetString(name, lua.LString(text))
	return t
}

// luaReply is read without package resp, which is made for any reply and takes longer: scripts get
// many short ones.
type luaReply struct{ rest []byte }

// value reads one RESP2 reply as redis.call returns it: nil is false, a status is a table with ok,
// an error a table with err.
func (r *luaReply) value(l *lua.LState) (lua.LValue, error) {
	end := bytes.IndexByte(r.rest, '\n')
	if end < 2 {
		return nil, fmt.Errorf("reply line %q: %w", r.rest, io.ErrUnexpectedEOF)
	}
	kind, text := r.rest[0], r.rest[1:end-1]
	r.rest = r.rest[end+1:]
	switch kind {
	case '+':
		return tableOf(l, "ok", string(text)), nil
	case '-':
		return errorTable(l, string(text)), nil
	case ':':
		n, err := strconv.ParseInt(string(text), 10, 64)
		return lua.LNumber(n), err
	case '$', '*':
	default:
		return nil, fmt.Errorf("reply type %q", kind)
	}
	n, err := strconv.Atoi(string(text))
	switch {
	case err != nil || n < 0:
		return lua.LFalse, err
	case kind == '*':
		t := l.CreateTable(n, 0)
		for range n {
			v, err := r.value(l)
			if err != nil {
				return nil, err
			}
			t.Append(v)
		}
		return t, nil
	case n+2 > len(r.rest):
		return nil, io.ErrUnexpectedEOF
	}
	bulk := lua.LString(r.rest[:n])
	r.rest = r.rest[n+2:]
	return bulk, nil
}

// writeLua writes the result of a script by Redis' rules: true is 1, false and nil are null,
// numbers are truncated, an array ends at the first nil.
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
		if e := v.RawGetString("err"); e != lua.LNil {
			out.WriteError(e.String())
			return
		}
		if s := v.RawGetString("ok"); s != lua.LNil {
			out.WriteInline(s.String())
			return
		}
		n := 0
		for v.RawGetInt(n+1) != lua.LNil {
			n++
		}
		out.WriteLen(n)
		for i := range n {
			writeLua(out, v.RawGetInt(i+1))
		}
	default:
		out.WriteNull()
	}
}
