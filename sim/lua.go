package sim

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"github.com/lockbench/lockbench/internal/resp"
)

// luaHost runs the scripts of one node in one Lua state; miniredis opens a new one for every call, about 100 µs. Scripts may not create globals, so
// that no call sees data of another. Errors keep the server's code, as in Redis 7 and unlike miniredis.
type luaHost struct {
	node     *node
	state    *lua.LState
	globals  *lua.LTable
	compiled map[string]*lua.LFunction // by digest
	digests  map[string]string         // by source: each schedule sends every script again
	buf      bytes.Buffer
	peer     *server.Peer
	session  *session
	random   luaRandom
	readOnly bool // the script runs by EVAL_RO or EVALSHA_RO
}

// strictGlobals makes reading an unknown global and writing any global an error, with Redis' texts.
const strictGlobals = `
setmetatable(_G, {
  __newindex = function(_, name) error("Script attempted to create global variable '" .. tostring(name) .. "'", 2) end,
  __index = function(_, name) error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2) end,
})`

func newLuaHost(n *node) *luaHost {
	h := &luaHost{node: n, compiled: map[string]*lua.LFunction{}, digests: map[string]string{}}
	h.peer = server.NewPeer(h.scratch())
	h.session = &session{peer: h.peer}
	h.open()
	return h
}

// scratch returns a writer to the buffer for replies that go to no connection.
func (h *luaHost) scratch() *bufio.Writer { return bufio.NewWriter(&h.buf) }

func (h *luaHost) open() {
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
		"call": h.call, "pcall": h.pcall, "error_reply": errorReply, "status_reply": statusReply,
		"sha1hex": sha1hex, "log": func(*lua.LState) int { return 0 },
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
}

// refusing makes a table refuse by name what Redis has in it and the simulator has not: the names given, or every one.
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

func (h *luaHost) close() { h.state.Close() }

// digest returns the name of a script for EVALSHA.
func digest(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}

// digest returns the digest of a script, computed once.
func (h *luaHost) digest(source string) string {
	sha, ok := h.digests[source]
	if !ok {
		sha = digest(source)
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
	if err := l.PCall(0, 1, nil); err != nil {
		out.WriteError(scriptError(err, sha))
		return
	}
	value := l.Get(-1)
	l.SetTop(0)
	writeLua(out, value)
}

func stringTable(l *lua.LState, items []string) *lua.LTable {
	t := l.CreateTable(len(items), 0)
	for _, s := range items {
		t.Append(lua.LString(s))
	}
	return t
}

// scriptError returns the reply to a script that failed: with the code of the command that failed, or ERR and the Lua message.
func scriptError(err error, sha string) string {
	var api *lua.ApiError
	if !errors.As(err, &api) {
		return "ERR " + err.Error()
	}
	if t, ok := api.Object.(*lua.LTable); ok {
		return t.RawGetString("err").String() + " script: " + sha + ", on @user_script" + lua.LVAsString(t.RawGetString("line")) + "."
	}
	return "ERR " + api.Object.String() + " script: " + sha + ", on @user_script."
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

// pcall implements redis.pcall: an error reply is a value.
func (h *luaHost) pcall(l *lua.LState) int {
	l.Push(h.command(l))
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
	if text := h.refusal(name, args); text != "" {
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

// refusal returns the error for a command that the script must not call; "" for one that it may.
func (h *luaHost) refusal(name string, args []string) string {
	text := h.node.refusal(name, args, toScript)
	switch {
	case text != "":
		return text
	case !resp.InScripts(full(name, args)):
		return "ERR This Redis command is not allowed from script"
	case h.readOnly && resp.IsWrite(name):
		return "ERR Write commands are not allowed from read-only scripts."
	}
	return h.node.misplacedInScript(args)
}

func errorTable(l *lua.LState, text string) *lua.LTable { return tableOf(l, "err", text) }

func tableOf(l *lua.LState, name, text string) *lua.LTable {
	t := l.CreateTable(0, 1)
	t.RawSetString(name, lua.LString(text))
	return t
}

func errorReply(l *lua.LState) int {
	text := strings.TrimPrefix(l.CheckString(1), "-")
	if !strings.Contains(text, " ") {
		text = "ERR " + text
	}
	l.Push(errorTable(l, text))
	return 1
}

func statusReply(l *lua.LState) int {
	l.Push(tableOf(l, "ok", l.CheckString(1)))
	return 1
}

func sha1hex(l *lua.LState) int {
	l.Push(lua.LString(digest(l.CheckString(1))))
	return 1
}

// eval implements EVAL source numkeys key … arg …, and EVALSHA with a digest instead of the source.
func (n *node) eval(s *session, byDigest bool, args []string) {
	var sha string
	source, known := args[0], true
	if byDigest {
		sha = strings.ToLower(args[0])
		source, known = n.scripts[sha]
	} else {
		sha = n.lua.digest(source)
	}
	args = args[1:]
	count, err := strconv.Atoi(args[0])
	switch {
	case !known:
		s.peer.WriteError("NOSCRIPT No matching script. Please use EVAL.")
		return
	case err != nil:
		s.peer.WriteError("ERR value is not an integer or out of range")
		return
	case count < 0:
		s.peer.WriteError("ERR Number of keys can't be negative")
		return
	case count > len(args)-1:
		s.peer.WriteError("ERR Number of keys can't be greater than number of args")
		return
	}
	f, err := n.lua.compile(sha, source)
	if err != nil {
		s.peer.WriteError("ERR Error compiling script (new function): " + oneLine(err.Error()))
		return
	}
	n.scripts[sha] = source
	n.lua.run(s.peer, sha, f, args[1:1+count], args[1+count:])
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (n *node) script(s *session, args []string) {
	switch sub := strings.ToUpper(args[0]); {
	case sub == "LOAD":
		sha := digest(args[1])
		if _, err := n.lua.compile(sha, args[1]); err != nil {
			s.peer.WriteError("ERR Error compiling script (new function): " + oneLine(err.Error()))
			return
		}
		n.scripts[sha] = args[1]
		s.peer.WriteBulk(sha)
	case sub == "EXISTS":
		s.peer.WriteLen(len(args) - 1)
		for _, sha := range args[1:] {
			_, known := n.scripts[strings.ToLower(sha)]
			s.peer.WriteInt(boolInt(known))
		}
	case len(args) == 1 || len(args) == 2 && (strings.EqualFold(args[1], "SYNC") || strings.EqualFold(args[1], "ASYNC")):
		clear(n.scripts)
		s.peer.WriteOK()
	default:
		s.peer.WriteError("ERR unknown subcommand or wrong number of arguments for 'script' command")
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// luaRandom is the random source of a node's scripts: drand48 as in Redis, but seeded by the program.
type luaRandom struct{ x uint64 }

func (r *luaRandom) seed(n int32) { r.x = uint64(uint32(n))<<16 | 0x330E }

// next returns a number below 2^31 - 1, as lrand48 does.
func (r *luaRandom) next() int64 {
	r.x = (r.x*0x5DEECE66D + 0xB) & (1<<48 - 1)
	return int64(r.x >> 17 & math.MaxInt32)
}

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
		f := float64(r.next()%math.MaxInt32) / math.MaxInt32
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

type luaReply struct{ rest []byte }

// value reads one RESP2 reply as redis.call returns it: nil is false, a status is a table with ok, an error a table with err.
func (r *luaReply) value(l *lua.LState) (lua.LValue, error) {
	kind, text, err := r.line()
	if err != nil {
		return nil, err
	}
	switch kind {
	case '+':
		return tableOf(l, "ok", string(text)), nil
	case '-':
		return errorTable(l, string(text)), nil
	case ':':
		n, err := strconv.ParseInt(string(text), 10, 64)
		return lua.LNumber(n), err
	case '$':
		return r.bulk(text)
	case '*':
		return r.array(l, text)
	}
	return nil, fmt.Errorf("reply type %q", kind)
}

func (r *luaReply) line() (kind byte, text []byte, err error) {
	end := bytes.IndexByte(r.rest, '\n')
	if end < 2 {
		return 0, nil, fmt.Errorf("reply line %q: %w", r.rest, io.ErrUnexpectedEOF)
	}
	line := r.rest[:end-1]
	r.rest = r.rest[end+1:]
	return line[0], line[1:], nil
}

func (r *luaReply) bulk(size []byte) (lua.LValue, error) {
	n, err := strconv.Atoi(string(size))
	if err != nil || n < 0 {
		return lua.LFalse, err
	}
	if n+2 > len(r.rest) {
		return nil, io.ErrUnexpectedEOF
	}
	text := lua.LString(r.rest[:n])
	r.rest = r.rest[n+2:]
	return text, nil
}

func (r *luaReply) array(l *lua.LState, size []byte) (lua.LValue, error) {
	n, err := strconv.Atoi(string(size))
	if err != nil || n < 0 {
		return lua.LFalse, err
	}
	t := l.CreateTable(n, 0)
	for range n {
		v, err := r.value(l)
		if err != nil {
			return nil, err
		}
		t.Append(v)
	}
	return t, nil
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

// Redis' Lua writes a number as text with 14 digits, and as an argument of a command with 17; gopher-lua writes all. A lock that counts microseconds
// shows it: 1.7000000001235e+15. And it reads numbers as C's strtod does, to which 010 is ten; to gopher-lua it is eight.

// The digits of a number as text.
const (
	toText    = 14
	toCommand = 17
)

// luaNumber returns a number as C's %.14g or %.17g prints it.
func luaNumber(n lua.LNumber, digits int) string {
	switch f := float64(n); {
	case f == math.Trunc(f) && math.Abs(f) < 1e14:
		return strconv.FormatInt(int64(f), 10)
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "-nan" // as x86 has it
	default:
		return strconv.FormatFloat(f, 'g', digits, 64)
	}
}

// asText turns a number into its text, and returns any other value as it is.
func asText(v lua.LValue) lua.LValue {
	if n, ok := v.(lua.LNumber); ok {
		return lua.LString(luaNumber(n, toText))
	}
	return v
}

// asNumber turns a text into the number that it is, and returns any other value as it is.
func asNumber(v lua.LValue) lua.LValue {
	if text, ok := v.(lua.LString); ok {
		if f, ok := decimal(string(text)); ok {
			return lua.LNumber(f)
		}
	}
	return v
}

// textFunction is a global that scripts cannot name: it applies asText to its argument.
const textFunction = "\x00text"

const numberFunction = "\x00number"

// asInC changes a parsed script where gopher-lua would convert in its own way: number literals, operands of concatenations, and limits of loops.
func asInC(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		asInC(v.Elem())
	case reflect.Pointer:
		switch e := v.Interface().(type) {
		case *ast.StringConcatOpExpr:
			e.Lhs, e.Rhs = converted(textFunction, e.Lhs), converted(textFunction, e.Rhs)
		case *ast.NumberForStmt:
			e.Init, e.Limit, e.Step = converted(numberFunction, e.Init), converted(numberFunction, e.Limit), converted(numberFunction, e.Step)
		case *ast.NumberExpr:
			if f, ok := decimal(e.Value); ok {
				e.Value = strconv.FormatFloat(f, 'g', -1, 64)
			}
		}
		asInC(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			asInC(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				asInC(v.Field(i))
			}
		}
	}
}

// converted returns a call of a function with an expression, unless that needs no conversion.
func converted(function string, e ast.Expr) ast.Expr {
	switch e.(type) {
	case nil, *ast.NumberExpr:
		if function == numberFunction {
			return e
		}
	case *ast.StringExpr, *ast.StringConcatOpExpr:
		if function == textFunction {
			return e
		}
	}
	name := &ast.IdentExpr{Value: function}
	call := &ast.FuncCallExpr{Func: name, Args: []ast.Expr{e}, AdjustRet: true}
	for _, x := range []ast.PositionHolder{name, call} {
		x.SetLine(e.Line())
		x.SetLastLine(e.LastLine())
	}
	return call
}

// openText replaces what makes text of numbers, or numbers of text.
func openText(l *lua.LState) {
	for name, convert := range map[string]func(lua.LValue) lua.LValue{textFunction: asText, numberFunction: asNumber} {
		l.SetGlobal(name, l.NewFunction(func(l *lua.LState) int {
			l.Push(convert(l.Get(1)))
			return 1
		}))
	}
	openArithmetic(l)
	before(l, l.G.Global, "tostring", func(l *lua.LState) { textArgument(l, 1) })
	l.SetGlobal("tonumber", l.NewFunction(toNumber(l)))
	before(l, l.G.Global, "select", numberArguments(1, 1))
	before(l, l.G.Global, "unpack", numberArguments(2, 3))
	library(l, "math", func(t *lua.LTable) {
		t.ForEach(func(name, f lua.LValue) {
			if f.Type() == lua.LTFunction {
				before(l, t, name.String(), numberArguments(1, math.MaxInt))
			}
		})
	})
	library(l, "table", func(t *lua.LTable) {
		before(l, t, "concat", textItems)
		before(l, t, "concat", numberArguments(3, 4))
		before(l, t, "remove", numberArguments(2, 2))
		before(l, t, "insert", func(l *lua.LState) {
			if l.GetTop() > 2 { // else the second is the value
				l.Replace(2, asNumber(l.Get(2)))
			}
		})
	})
	library(l, "string", func(t *lua.LTable) {
		for _, name := range strings.Fields("len sub upper lower rep reverse byte find match gmatch gsub") {
			before(l, t, name, func(l *lua.LState) { textArgument(l, 1) })
		}
		before(l, t, "format", textVerbs)
		for name, at := range map[string][2]int{"char": {1, math.MaxInt}, "rep": {2, 2}, "sub": {2, 3}, "byte": {2, 3}, "find": {3, 3}, "match": {3, 3}, "gsub": {4, 4}} {
			before(l, t, name, numberArguments(at[0], at[1]))
		}
	})
}

func library(l *lua.LState, name string, change func(*lua.LTable)) {
	if t, ok := l.GetGlobal(name).(*lua.LTable); ok { // it was opened before
		change(t)
	}
}

// openArithmetic makes arithmetic with texts read them as C does: it uses the functions of their metatable.
func openArithmetic(l *lua.LState) {
	meta := l.NewTable()
	meta.RawSetString("__index", l.GetGlobal("string"))
	for event, do := range map[string]func(a, b float64) float64{
		"__add": func(a, b float64) float64 { return a + b },
		"__sub": func(a, b float64) float64 { return a - b },
		"__mul": func(a, b float64) float64 { return a * b },
		"__div": func(a, b float64) float64 { return a / b },
		"__mod": func(a, b float64) float64 { return a - math.Floor(a/b)*b },
		"__pow": math.Pow,
		"__unm": func(a, _ float64) float64 { return -a },
	} {
		meta.RawSetString(event, l.NewFunction(func(l *lua.LState) int {
			a, isNumber := asNumber(l.Get(1)).(lua.LNumber)
			b, andThis := asNumber(l.Get(2)).(lua.LNumber)
			if !isNumber || !andThis && event != "__unm" {
				l.RaiseError("attempt to perform arithmetic on a string value")
			}
			l.Push(lua.LNumber(do(float64(a), float64(b))))
			return 1
		}))
	}
	l.SetMetatable(lua.LString(""), meta)
}

// before makes a function of a library change its arguments first.
func before(l *lua.LState, lib *lua.LTable, name string, change func(*lua.LState)) {
	f, ok := lib.RawGetString(name).(*lua.LFunction)
	if !ok {
		return // unreachable: the library was opened before
	}
	lib.RawSetString(name, l.NewFunction(func(l *lua.LState) int {
		change(l)
		return f.GFunction(l)
	}))
}

func textArgument(l *lua.LState, i int) {
	if i <= l.GetTop() {
		l.Replace(i, asText(l.Get(i)))
	}
}

// numberArguments makes numbers of the arguments from one to another. A text that is none becomes false, since gopher-lua may read it.
func numberArguments(from, to int) func(*lua.LState) {
	return func(l *lua.LState) {
		for i := from; i <= min(to, l.GetTop()); i++ {
			v := asNumber(l.Get(i))
			if v.Type() == lua.LTString && v != lua.LString("#") { // which select takes
				v = lua.LFalse
			}
			l.Replace(i, v)
		}
	}
}

// textItems replaces the table that is concatenated by one without numbers.
func textItems(l *lua.LState) {
	from := l.CheckTable(1)
	to := l.CreateTable(from.Len(), 0)
	for i := 1; i <= from.Len(); i++ {
		to.RawSetInt(i, asText(from.RawGetInt(i)))
	}
	l.Replace(1, to)
}

// textVerbs makes text of the numbers that string.format writes with %s or %q, and numbers of the texts that it writes with other verbs.
func textVerbs(l *lua.LState) {
	textArgument(l, 1)
	verbs, argument := strings.Split(strings.ReplaceAll(l.CheckString(1), "%%", ""), "%"), 1
	for _, verb := range verbs[1:] {
		argument++
		if end := strings.TrimLeft(verb, "-+ #0123456789."); strings.HasPrefix(end, "s") || strings.HasPrefix(end, "q") {
			textArgument(l, argument)
		} else if argument <= l.GetTop() {
			l.Replace(argument, asNumber(l.Get(argument)))
		}
	}
}

// toNumber returns tonumber as C's strtod reads text: also 1e3, 0x1F and numbers beyond 64 bits. For a base it is the library's.
func toNumber(l *lua.LState) lua.LGFunction {
	library, ok := l.GetGlobal("tonumber").(*lua.LFunction)
	return func(l *lua.LState) int {
		text, is := l.Get(1).(lua.LString)
		if base := l.Get(2); ok && (!is || base != lua.LNil && base != lua.LNumber(10)) {
			return library.GFunction(l)
		}
		l.Push(lua.LNil)
		if f, ok := decimal(string(text)); ok {
			l.Push(lua.LNumber(f))
		}
		return 1
	}
}

// decimal reads a number as strtod does.
func decimal(text string) (float64, bool) {
	text = strings.ToLower(strings.Trim(text, " \t\n\v\f\r"))
	if strings.Contains(text, "_") {
		return 0, false // which Go allows
	}
	if strings.HasPrefix(strings.TrimLeft(text, "+-"), "0x") && !strings.Contains(text, "p") {
		text += "p0"
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil || errors.Is(err, strconv.ErrRange)
}
