package fakeredis

import (
	"bufio"
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"

	luajson "github.com/alicebob/miniredis/v2/gopher-json"
	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// luaHost runs the scripts of one node in one Lua state; miniredis opens a new one for every call,
// about 100 µs. Scripts may not create globals, so that no call sees data of another. Errors keep
// the server's code, as in Redis 7 and unlike miniredis.
type luaHost struct {
	node     *Node
	state    *lua.LState
	globals  *lua.LTable
	compiled map[string]*lua.LFunction // by digest
	digests  map[string]string         // by source: each schedule sends every script again
	buf      bytes.Buffer
	peer     *server.Peer
	session  *Session
	random   luaRandom
	readOnly bool // the script runs by EVAL_RO or EVALSHA_RO
}

// strictGlobals makes reading an unknown global and writing any global an error, with Redis' texts.
const strictGlobals = `
setmetatable(_G, {
  __newindex = function(_, name) error("Script attempted to create global variable '" .. tostring(name) .. "'", 2) end,
  __index = function(_, name) error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2) end,
})`

func newLuaHost(n *Node) *luaHost {
	h := &luaHost{node: n, compiled: map[string]*lua.LFunction{}, digests: map[string]string{}}
	h.peer = server.NewPeer(h.scratch())
	h.session = &Session{peer: h.peer}
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	libs := []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable},
		{lua.StringLibName, lua.OpenString}, {lua.MathLibName, lua.OpenMath},
	}
	for _, lib := range libs {
		l.Push(l.NewFunction(lib.open))
		l.Push(lua.LString(lib.name))
		l.Call(1, 0)
	}
	for _, lib := range []string{"cjson", "cmsgpack", "struct", "bit"} {
		l.SetGlobal(lib, h.refusing(l, l.NewTable(), lib, ""))
	}
	api := l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{
		"call":               h.call,
		"pcall":              func(l *lua.LState) int { l.Push(h.command(l)); return 1 }, // an error reply is a value
		"error_reply":        errorReply,
		"status_reply":       func(l *lua.LState) int { l.Push(tableOf(l, "ok", l.CheckString(1))); return 1 },
		"sha1hex":            func(l *lua.LState) int { l.Push(lua.LString(history.ScriptDigest(l.CheckString(1)))); return 1 },
		"log":                func(*lua.LState) int { return 0 },
		"replicate_commands": func(l *lua.LState) int { l.Push(lua.LTrue); return 1 },
	})
	for i, level := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		api.RawSetString(level, lua.LNumber(i))
	}
	api.RawSetString("REDIS_VERSION", lua.LString(version))
	l.SetGlobal("redis", h.refusing(l, api, "redis", "setresp set_repl breakpoint debug acl_check_cmd REDIS_VERSION_NUM REPL_ALL REPL_AOF REPL_NONE REPL_REPLICA REPL_SLAVE"))
	h.random.open(l)
	openText(l)
	for _, gone := range []string{"dofile", "loadfile", "print", "require", "module", "package", "newproxy"} {
		l.SetGlobal(gone, lua.LNil)
	}
	if err := l.DoString(strictGlobals); err != nil {
		panic("unreachable: the strict prologue is a constant: " + err.Error())
	}
	h.state, h.globals = l, l.Get(lua.GlobalsIndex).(*lua.LTable)
	return h
}

// scratch returns a writer to the buffer for replies that go to no connection.
func (h *luaHost) scratch() *bufio.Writer { return bufio.NewWriter(&h.buf) }

// openJSON opens the library cjson, for a replay: its texts may differ from those of Redis.
func (h *luaHost) openJSON() {
	luajson.Loader(h.state)
	h.state.SetGlobal("cjson", h.state.Get(-1))
	h.state.SetTop(0)
}

// refusing makes a table refuse by name what Redis has in it and the simulator has not: the names
// given, or every one.
func (h *luaHost) refusing(l *lua.LState, t *lua.LTable, lib, lacking string) *lua.LTable {
	known := names(lacking)
	meta := l.NewTable()
	meta.RawSetString("__index", l.NewFunction(func(l *lua.LState) int {
		name := l.CheckString(2)
		if lacking == "" || known[name] {
			l.RaiseError("%s", h.node.refuse("a script with "+lib+"."+name))
		}
		return 0
	}))
	l.SetMetatable(t, meta)
	return t
}

// digest returns the digest of a script, computed once.
func (h *luaHost) digest(source string) string {
	sha, ok := h.digests[source]
	if !ok {
		sha = history.ScriptDigest(source)
		h.digests[strings.Clone(source)] = sha
	}
	return sha
}

// compile returns the compiled form of a script, from the cache when it was seen before.
func (h *luaHost) compile(sha, source string) (*lua.LFunction, error) {
	if f, ok := h.compiled[sha]; ok {
		return f, nil
	}
	if strings.HasPrefix(source, "#!") {
		return nil, errors.New(h.node.refuse("a script that begins with #!"))
	}
	chunk, err := parse.Parse(strings.NewReader(source), "user_script")
	if err != nil {
		return nil, err
	}
	asInC(reflect.ValueOf(chunk))
	p, err := lua.Compile(chunk, "user_script")
	if err != nil {
		return nil, err
	}
	p.IsVarArg &^= lua.VarArgNeedsArg // omits the table arg of a chunk, as Redis does
	f := h.state.NewFunctionFromProto(p)
	h.compiled[sha] = f
	return f, nil
}

func (h *luaHost) run(out *server.Peer, sha string, f *lua.LFunction, keys, argv []string) {
	l := h.state
	h.globals.RawSetString("KEYS", stringTable(l, keys))
	h.globals.RawSetString("ARGV", stringTable(l, argv))
	l.SetTop(0)
	l.Push(f)
	err := l.PCall(0, 1, nil)
	if err == nil {
		value := l.Get(-1)
		l.SetTop(0)
		writeLua(out, value)
		return
	}
	// the reply has the code of the command that failed, or ERR and the Lua message
	var api *lua.ApiError
	if !errors.As(err, &api) {
		out.WriteError("ERR " + err.Error())
	} else if t, ok := api.Object.(*lua.LTable); ok {
		out.WriteError(t.RawGetString("err").String() + " script: " + sha + ", on @user_script" + lua.LVAsString(t.RawGetString("line")) + ".")
	} else {
		out.WriteError("ERR " + api.Object.String() + " script: " + sha + ", on @user_script.")
	}
}

// call implements redis.call: an error reply ends the script.
func (h *luaHost) call(l *lua.LState) int {
	v := h.command(l)
	if t, ok := v.(*lua.LTable); ok && t.RawGetString("err") != lua.LNil {
		_, line, _ := strings.Cut(strings.TrimSuffix(l.Where(1), ": "), ":")
		t.RawSetString("line", lua.LString(":"+strings.Trim(line, ": ")))
		l.Error(t, 0)
	}
	l.Push(v)
	return 1
}

func (h *luaHost) command(l *lua.LState) lua.LValue {
	args := make([]string, 0, l.GetTop())
	for i := 1; i <= l.GetTop(); i++ {
		switch a := l.Get(i).(type) {
		case lua.LNumber:
			args = append(args, luaNumber(a, toCommand))
		case lua.LString:
			args = append(args, string(a))
		default:
			return errorTable(l, "ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	if len(args) == 0 {
		return errorTable(l, "ERR Please specify at least one argument for this redis lib call")
	}
	name := strings.ToUpper(args[0])
	text := h.node.refusal(name, args, true)
	switch {
	case text != "":
	case !resp.InScripts(full(name, args)):
		text = "ERR This Redis command is not allowed from script"
	case h.readOnly && resp.IsWrite(name):
		text = "ERR Write commands are not allowed from read-only scripts."
	case h.node.misplaced(args) != "": // a script may use all slots of its node, but each command only one
		text = "ERR Script attempted to access a non local key in a cluster node"
	}
	if text != "" {
		return errorTable(l, text)
	}
	h.buf.Reset()
	h.node.command(h.session, name, args)
	h.peer.Flush()
	v, err := (&luaReply{h.buf.Bytes()}).value(l)
	if err != nil {
		return errorTable(l, "ERR reply of "+name+" not understood: "+err.Error())
	}
	return v
}

func errorReply(l *lua.LState) int {
	text := strings.TrimPrefix(l.CheckString(1), "-")
	if !strings.Contains(text, " ") {
		text = "ERR " + text
	}
	l.Push(errorTable(l, text))
	return 1
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// luaRandom is the random source of a node's scripts: drand48 as in Redis, but seeded by the
// program.
type luaRandom struct{ x uint64 }

func (r *luaRandom) seed(n int32) { r.x = uint64(uint32(n))<<16 | 0x330E }

func (r *luaRandom) open(l *lua.LState) {
	table, ok := l.GetGlobal("math").(*lua.LTable)
	if !ok {
		return // unreachable: the library was opened before
	}
	table.RawSetString("randomseed", l.NewFunction(func(l *lua.LState) int {
		r.seed(int32(l.CheckNumber(1)))
		return 0
	}))
	table.RawSetString("random", l.NewFunction(func(l *lua.LState) int {
		r.x = (r.x*0x5DEECE66D + 0xB) & (1<<48 - 1)
		number := int64(r.x >> 17 & math.MaxInt32) // below 2^31, as of lrand48
		f := float64(number%math.MaxInt32) / math.MaxInt32
		low, high := int64(1), int64(0)
		switch l.GetTop() {
		case 0:
			l.Push(lua.LNumber(f))
			return 1
		case 1:
			high = int64(l.CheckNumber(1))
		default:
			low, high = int64(l.CheckNumber(1)), l.CheckInt64(2)
		}
		if low > high {
			l.ArgError(l.GetTop(), "interval is empty")
		}
		l.Push(lua.LNumber(math.Floor(f*float64(high-low+1)) + float64(low)))
		return 1
	}))
}
