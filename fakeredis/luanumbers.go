package fakeredis

import (
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// Redis' Lua writes a number as text with 14 digits, and as an argument of a command with 17;
// gopher-lua writes all. A lock that counts microseconds shows it: 1.7000000001235e+15. And it
// reads numbers as C's strtod does, to which 010 is ten; to gopher-lua it is eight.

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

// asInC changes a parsed script where gopher-lua would convert in its own way: number literals,
// operands of concatenations, and limits of loops.
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
		before(l, t, "concat", func(l *lua.LState) { // of a table without numbers
			from := l.CheckTable(1)
			to := l.CreateTable(from.Len(), 0)
			for i := 1; i <= from.Len(); i++ {
				to.RawSetInt(i, asText(from.RawGetInt(i)))
			}
			l.Replace(1, to)
		})
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

// openArithmetic makes arithmetic with texts read them as C does: it uses the functions of their
// metatable.
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

// numberArguments makes numbers of the arguments from one to another. A text that is none becomes
// false, since gopher-lua may read it.
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

// textVerbs makes text of the numbers that string.format writes with %s or %q, and numbers of the
// texts that it writes with other verbs.
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

// toNumber returns tonumber as C's strtod reads text: also 1e3, 0x1F and numbers beyond 64 bits.
// For a base it is the library's.
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
