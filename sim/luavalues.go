package sim

import (
	"strconv"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"

	"github.com/lockbench/lockbench/internal/resp"
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

// luaValue returns a reply in RESP2 as redis.call does: nil is false, a status is a table with ok, an error a table with err.
func luaValue(l *lua.LState, r resp.Reply) lua.LValue {
	text := string(r.Str())
	switch kind := r.Kind(); {
	case r.IsNil():
		return lua.LFalse
	case kind == '+':
		return tableOf(l, "ok", text)
	case kind == '-':
		return errorTable(l, text)
	case kind == '$':
		return lua.LString(text)
	case kind == ':':
		n, _ := strconv.ParseInt(text, 10, 64) // nodes write whole numbers
		return lua.LNumber(n)
	}
	t := l.NewTable()
	for item := range r.Items() {
		t.Append(luaValue(l, item))
	}
	return t
}

// writeLua writes the result of a script by Redis' rules: true is 1, false and nil are null, numbers are truncated, an array ends at the first nil.
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
