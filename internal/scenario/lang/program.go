package lang

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/vet"
)

// A Program makes a scenario by calls of the language's functions from Go, one after the other, without a text. Its
// bounds, checks and messages are those of Load. A mistake is said as the file and the line of Go, and ends the
// program: all calls after it do nothing.
type Program struct {
	l     *loader
	verbs map[string]*verb
	err   error
}

// A Value is what a function of the language gives, for use as an argument. The zero Value is none.
type Value struct{ v starlark.Value }

// A Named is an argument that is said by its name.
type Named struct {
	Name  string
	Value any
}

// A Line is a place in a file of Go.
type Line struct {
	File string
	Line int
}

// NewProgram begins a scenario, on a line of Go. open is that of Load.
func NewProgram(name string, at Line, open func(file string) ([]byte, error)) *Program {
	p := &Program{l: newLoader(name, nil, open), verbs: make(map[string]*verb)}
	p.l.begins = at.position()
	for i := range language {
		p.verbs[language[i].name()] = &language[i]
	}
	return p
}

// Err returns the first mistake, one line "file:line: what is wrong; what to do"; nil: there is none yet.
func (p *Program) Err() error { return p.err }

// Fail is a mistake in how the program is written.
func (p *Program) Fail(at Line, says string) {
	if p.err == nil {
		p.err = p.l.failf(at.position(), "%s", says)
	}
}

func (l Line) position() syntax.Position { return syntax.MakePosition(&l.File, int32(l.Line), 0) }

// Call calls a function of the language. An argument is an int, an int64, a uint64, a bool, a string, a Value, or a
// list of arguments; nil is None.
func (p *Program) Call(word string, at Line, args []any, named []Named) Value {
	if p.err != nil {
		return Value{}
	}
	v := p.verbs[word]
	if v == nil {
		p.Fail(at, fmt.Sprintf("the language has no function %q", word))
		return Value{}
	}
	c := &call{l: p.l, sig: v.sig, name: word, at: at.position()}
	for _, a := range args {
		c.args = append(c.args, p.value(at, a))
	}
	for _, n := range named {
		c.kwargs = append(c.kwargs, starlark.Tuple{starlark.String(n.Name), p.value(at, n.Value)})
	}
	if p.err != nil {
		return Value{}
	}
	err := p.l.budget.paid(c.args, c.kwargs)
	if err == nil {
		var r starlark.Value
		if r, err = v.do(p.l, c); err == nil {
			return Value{r}
		}
	}
	p.Fail(at, err.Error())
	return Value{}
}

// Plus returns the place n bytes after v.
func (p *Program) Plus(at Line, v Value, n int) Value {
	return p.do(at, v, func(v starlark.Value) (starlark.Value, error) {
		return starlark.Binary(syntax.PLUS, v, starlark.MakeInt(n))
	})
}

// Symbol returns a function of an object, or its data.
func (p *Program) Symbol(at Line, v Value, name string) Value {
	return p.do(at, v, func(v starlark.Value) (starlark.Value, error) {
		o, is := v.(starlark.HasAttrs)
		if !is {
			return nil, fmt.Errorf("%s has no symbols", describe(v))
		}
		return o.Attr(name)
	})
}

func (p *Program) do(at Line, v Value, what func(v starlark.Value) (starlark.Value, error)) Value {
	if p.err != nil || v.v == nil {
		return Value{}
	}
	r, err := what(v.v)
	if err != nil {
		p.Fail(at, err.Error())
		return Value{}
	}
	return Value{r}
}

// Ints returns the numbers that a list has, as insns() gives it.
func (v Value) Ints() (ns []int) {
	list, _ := v.v.(*starlark.List)
	for i := 0; list != nil && i < list.Len(); i++ {
		if n, err := starlark.AsInt32(list.Index(i)); err == nil {
			ns = append(ns, n)
		}
	}
	return ns
}

func (p *Program) value(at Line, x any) starlark.Value {
	switch x := x.(type) {
	case nil:
		return starlark.None
	case int:
		return starlark.MakeInt(x)
	case int64:
		return starlark.MakeInt64(x)
	case uint64:
		return starlark.MakeUint64(x)
	case bool:
		return starlark.Bool(x)
	case string:
		return starlark.String(x)
	case Value:
		if x.v == nil {
			return starlark.None
		}
		return x.v
	case []any:
		list := make([]starlark.Value, len(x))
		for i := range x {
			list[i] = p.value(at, x[i])
		}
		return starlark.NewList(list)
	}
	p.Fail(at, fmt.Sprintf("%v is a %T; give a number, a text, a function or data", x, x))
	return starlark.None
}

// Scenario ends the program and returns what the calls have made, or the first mistake: that of a call, or what Load
// would say of the whole.
func (p *Program) Scenario() (*scenario.Scenario, error) {
	if p.err != nil {
		return nil, p.err
	}
	p.l.addSites()
	if p.err = Check(&p.l.s); p.err == nil {
		p.err = vet.Unused(&p.l.s)
	}
	if p.err != nil {
		p.err = p.l.locate(p.err)
		return nil, p.err
	}
	return &p.l.s, nil
}
