package lang_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.starlark.net/syntax"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
)

// A caller makes the calls of a printed scenario through a Program.
type caller struct {
	t     *testing.T
	p     *lang.Program
	names map[string]lang.Value
}

func (c *caller) line(x syntax.Node) lang.Line {
	from, _ := x.Span()
	return lang.Line{File: "go.go", Line: int(from.Line)}
}

func (c *caller) expr(x syntax.Expr) any {
	switch x := x.(type) {
	case *syntax.Literal:
		switch v := x.Value.(type) {
		case int64:
			return v
		case *big.Int:
			return v.Uint64()
		case string:
			return v
		}
		require.Failf(c.t, "literal", "%T", x.Value)
	case *syntax.Ident:
		switch x.Name {
		case "True":
			return true
		case "False":
			return false
		case "None":
			return nil
		}
		return c.names[x.Name]
	case *syntax.UnaryExpr:
		return -c.expr(x.X).(int64)
	case *syntax.ParenExpr:
		return c.expr(x.X)
	case *syntax.BinaryExpr:
		n := int(c.expr(x.Y).(int64))
		if x.Op == syntax.MINUS {
			n = -n
		}
		return c.p.Plus(c.line(x), c.expr(x.X).(lang.Value), n)
	case *syntax.ListExpr:
		list := make([]any, len(x.List))
		for i := range x.List {
			list[i] = c.expr(x.List[i])
		}
		return list
	case *syntax.CallExpr:
		return c.call(x)
	}
	require.Failf(c.t, "expression", "%T", x)
	return nil
}

func (c *caller) call(x *syntax.CallExpr) lang.Value {
	var args []any
	var named []lang.Named
	for _, a := range x.Args {
		if b, is := a.(*syntax.BinaryExpr); is && b.Op == syntax.EQ {
			named = append(named, lang.Named{Name: b.X.(*syntax.Ident).Name, Value: c.expr(b.Y)})
		} else {
			args = append(args, c.expr(a))
		}
	}
	return c.p.Call(x.Fn.(*syntax.Ident).Name, c.line(x), args, named)
}

// Each built-in scenario that calls from Go make is the one that its text makes.
func TestProgram(t *testing.T) {
	for _, s := range library.All() {
		text := lang.Print(s)
		f, err := (&syntax.FileOptions{TopLevelControl: true, GlobalReassign: true}).Parse(s.Name+".star", text, 0)
		require.NoError(t, err)
		c := &caller{t: t, p: lang.NewProgram(s.Name, lang.Line{}, nil), names: make(map[string]lang.Value)}
		for _, st := range f.Stmts {
			switch st := st.(type) {
			case *syntax.ExprStmt:
				c.call(st.X.(*syntax.CallExpr))
			case *syntax.AssignStmt:
				c.names[st.LHS.(*syntax.Ident).Name] = c.call(st.RHS.(*syntax.CallExpr))
			default:
				require.Failf(t, s.Name, "%T", st)
			}
		}
		made, err := c.p.Scenario()
		require.NoError(t, err)
		require.Equal(t, text, lang.Print(made))
	}
}

// A mistake names the line of Go, whether a call finds it or the check of the whole, and ends the program.
func TestProgramMistakes(t *testing.T) {
	at := func(n int) lang.Line { return lang.Line{File: "mine_test.go", Line: n} }
	p := lang.NewProgram("it", at(1), nil)
	f := p.Call("text", at(3), []any{"f", "55 5d c3"}, nil)
	p.Call("kprobe", at(4), []any{"k"}, []lang.Named{{Name: "at", Value: p.Plus(at(4), f, 77)}})
	_, err := p.Scenario()
	require.ErrorContains(t, err, "mine_test.go:4: ")

	for _, c := range []struct {
		word  string
		args  []any
		named []lang.Named
		says  string
	}{
		{"text", []any{"f"}, nil, "missing argument for hex"},
		{"text", []any{"f", "5g"}, nil, `hex of "f"`},
		{"text", []any{"f", 1.5}, nil, "is a float64"},
		{"nothing", nil, nil, "no function"},
		{"kprobe", []any{"k"}, []lang.Named{{Name: "wher", Value: f}}, `has no parameter "wher"`},
		{"machine", nil, []lang.Named{{Name: "quiesce", Value: "shed"}}, `it is one of "none", "sched"`},
	} {
		p := lang.NewProgram("it", at(1), nil)
		p.Call(c.word, at(7), c.args, c.named)
		require.ErrorContains(t, p.Err(), c.says)
		require.True(t, strings.HasPrefix(p.Err().Error(), "mine_test.go:7: "), p.Err())
		first := p.Err()
		p.Call("text", at(9), []any{"f"}, nil)
		_, err := p.Scenario()
		require.Equal(t, first, err)
	}
}
