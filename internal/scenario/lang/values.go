package lang

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
)

// inert is embedded in the values of the language: they don't change, they are true, and they
// can't be keys of a dict.
type inert struct{}

func (inert) Freeze()               {}
func (inert) Truth() starlark.Bool  { return starlark.True }
func (inert) Hash() (uint32, error) { return 0, errors.New("isn't a key; use its name") }

// A location is a place in a function or a block of data: victim, victim + 1.
type location struct {
	inert
	what string // "function" or "data"
	name string
	at   arch.Addr // of the symbol
	off  int64
}

const maxOffset = scenario.MaxData // more is a slip; Check has the exact bound

func (p location) String() string {
	if p.off == 0 {
		return p.name
	}
	return fmt.Sprintf("%s + %d", p.name, p.off)
}
func (p location) Type() string    { return p.what }
func (p location) address() uint64 { return uint64(p.at) + uint64(p.off) }

// Binary is location + int, int + location and location - int.
func (p location) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	n, ok := y.(starlark.Int)
	if !ok || op != syntax.PLUS && (op != syntax.MINUS || side == starlark.Right) {
		return nil, nil
	}
	d, ok := n.Int64()
	if !ok || d < -maxOffset || d > maxOffset {
		return nil, fmt.Errorf("offset %v from %s is out of range; stay within the %s", n, p.name, p.what)
	}
	if op == syntax.MINUS {
		d = -d
	}
	p.off += d
	if p.off < -maxOffset || p.off > maxOffset {
		return nil, fmt.Errorf("offset %d from %s is out of range; stay within the %s", p.off, p.name, p.what)
	}
	return p, nil
}

// A handle is a part, as operations name it.
type handle struct {
	inert
	list *scenario.List
	name string
}

func (h handle) String() string { return h.list.What + " " + h.name }
func (h handle) Type() string   { return h.list.What }

// A deed is an operation of a task, a step of a handler, or, as call(f) is,
// both.
type deed struct {
	inert
	verb string
	op   *scenario.Op
	step *scenario.Step
	at   syntax.Position
	used *bool // a task or a handler has it
}

func (d deed) String() string { return d.verb + "()" }
func (d deed) Type() string   { return d.verb + "()" }

// An object is what elf returns: v.f and v["f"] are its function f.
type object struct {
	inert
	file    string
	names   []string
	symbols map[string]location
}

func (o *object) String() string      { return o.file }
func (o *object) Type() string        { return "object file" }
func (o *object) AttrNames() []string { return o.names }

// Attr is o.name.
func (o *object) Attr(name string) (starlark.Value, error) {
	if at, ok := o.symbols[name]; ok {
		return at, nil
	}
	return nil, fmt.Errorf("%s has no function %q; %s", o.file, name, nearest.OrAll(name, o.names))
}

// Get is o["name"], for names that aren't identifiers.
func (o *object) Get(key starlark.Value) (v starlark.Value, found bool, err error) {
	name, err := o.key(key)
	if err != nil {
		return nil, false, err
	}
	v, err = o.Attr(name)
	return v, err == nil, err
}

func (o *object) key(key starlark.Value) (string, error) {
	name, ok := starlark.AsString(key)
	if !ok {
		return "", fmt.Errorf("%s is indexed by the name of a function, not by %s; write v[\"f\"]", o.file,
			describe(key))
	}
	return name, nil
}

// describe describes a value of the wrong kind, for a message.
func describe(v starlark.Value) string {
	switch v := v.(type) {
	case deed:
		return v.String()
	case starlark.NoneType:
		return "None"
	case location:
		if v.what == "data" {
			return "data"
		}
	case starlark.Int:
		return "a number"
	}
	if strings.HasPrefix(v.Type(), "a") {
		return "an " + v.Type()
	}
	return "a " + v.Type()
}

var (
	_ starlark.HasBinary = location{}
	_ starlark.HasAttrs  = (*object)(nil)
	_ starlark.Mapping   = (*object)(nil)
)

// errnoOf reads 0, or the name of an errno.
func errnoOf(v starlark.Value) (uint64, error) {
	name, ok := starlark.AsString(v)
	if n, isInt := v.(starlark.Int); isInt && n.Sign() == 0 {
		return 0, nil
	}
	var names []string
	for _, e := range kpev.Errnos {
		if ok && e.Name == name {
			return e.N, nil
		}
		names = append(names, e.Name)
	}
	return 0, fmt.Errorf("errno = %.40s isn't known; it is 0, which is success, or one of %s", v.String(),
		nearest.Quoted(names))
}

// handle reads a part of a list, the argument what, and returns its name.
func (c *call) handle(what string, list *scenario.List, v starlark.Value) (string, error) {
	if name, ok := starlark.AsString(v); ok {
		return name, nil // of one that is made further down
	}
	h, ok := v.(handle)
	if !ok || h.list != list {
		return "", fmt.Errorf("%s: %s is %s, no %s; give it what %s() returned", c.name, what, describe(v), list.What,
			list.Makers[0].Word)
	}
	return h.name, nil
}
