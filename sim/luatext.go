package sim

import (
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// Redis' Lua writes a number with 14 digits where a script makes it text, and with 17 where it is an argument of a command; gopher-lua writes all
// digits. A lock that counts microseconds shows the difference: 1.7000000001235e+15.

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

// textFunction is a global that scripts cannot name: it applies asText to its argument.
const textFunction = "\x00text"

// textOperands wraps the operands of every concatenation in a parsed script in textFunction.
func textOperands(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		textOperands(v.Elem())
	case reflect.Pointer:
		if c, ok := v.Interface().(*ast.StringConcatOpExpr); ok {
			c.Lhs, c.Rhs = textOperand(c.Lhs), textOperand(c.Rhs)
		}
		textOperands(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			textOperands(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				textOperands(v.Field(i))
			}
		}
	}
}

func textOperand(e ast.Expr) ast.Expr {
	switch e.(type) {
	case *ast.StringExpr, *ast.StringConcatOpExpr:
		return e
	}
	name := &ast.IdentExpr{Value: textFunction}
	call := &ast.FuncCallExpr{Func: name, Args: []ast.Expr{e}, AdjustRet: true}
	for _, x := range []ast.PositionHolder{name, call} {
		x.SetLine(e.Line())
		x.SetLastLine(e.LastLine())
	}
	return call
}

// openText replaces the library functions that make text of numbers.
func openText(l *lua.LState) {
	l.SetGlobal(textFunction, l.NewFunction(func(l *lua.LState) int {
		l.Push(asText(l.Get(1)))
		return 1
	}))
	before(l, l.G.Global, "tostring", func(l *lua.LState) { textArgument(l, 1) })
	if t, ok := l.GetGlobal("table").(*lua.LTable); ok {
		before(l, t, "concat", textItems)
	}
	if t, ok := l.GetGlobal("string").(*lua.LTable); ok {
		for _, name := range strings.Fields("len sub upper lower rep reverse byte find match gmatch gsub") {
			before(l, t, name, func(l *lua.LState) { textArgument(l, 1) })
		}
		before(l, t, "format", textVerbs)
	}
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

// textItems replaces the table that is concatenated by one without numbers.
func textItems(l *lua.LState) {
	from := l.CheckTable(1)
	to := l.CreateTable(from.Len(), 0)
	for i := 1; i <= from.Len(); i++ {
		to.RawSetInt(i, asText(from.RawGetInt(i)))
	}
	l.Replace(1, to)
}

// textVerbs makes text of the numbers that string.format writes with %s or %q.
func textVerbs(l *lua.LState) {
	textArgument(l, 1)
	verbs, argument := strings.Split(strings.ReplaceAll(l.CheckString(1), "%%", ""), "%"), 1
	for _, verb := range verbs[1:] {
		argument++
		if end := strings.TrimLeft(verb, "-+ #0123456789."); strings.HasPrefix(end, "s") || strings.HasPrefix(end, "q") {
			textArgument(l, argument)
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
