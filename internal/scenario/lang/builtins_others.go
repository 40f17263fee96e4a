package lang

import (
	"fmt"

	"go.starlark.net/starlark"

	"kpsim/internal/scenario"
)

// doModule makes a module of functions.
func (l *loader) doModule(c *call) (starlark.Value, error) {
	m := scenario.Module{}
	var core, init, data, enter, leave starlark.Value
	err := c.unpack("name", &m.Name, "funcs", &core, "init_funcs??", &init, "data??", &data, "init??", &enter, "exit??", &leave, "loaded?", &m.Loaded)
	if err != nil {
		return nil, err
	}
	if m.Core, err = functions("funcs", core); err != nil {
		return nil, err
	}
	if init != nil {
		if m.Init, err = functions("init_funcs", init); err != nil {
			return nil, err
		}
	}
	if data != nil {
		if m.Data, err = blocks("data", data); err != nil {
			return nil, err
		}
	}
	for _, f := range []struct {
		what string
		v    starlark.Value
		to   *string
	}{{"init", enter, &m.Enter}, {"exit", leave, &m.Leave}} {
		if f.v != nil {
			at, err := whole(f.what, f.v)
			if err != nil {
				return nil, err
			}
			*f.to = at.name
		}
	}
	l.position[scenario.PartOf(scenario.TheModules, len(l.s.Modules))] = c.at
	l.s.Modules = append(l.s.Modules, m)
	return handle{what: "module", name: m.Name}, nil
}

// functions reads a list of whole functions.
func functions(what string, v starlark.Value) (names []string, err error) {
	list, err := sequence(what, v, "write [f, g]")
	if err != nil {
		return nil, err
	}
	for _, v := range list {
		f, err := whole(what, v)
		if err != nil {
			return nil, err
		}
		names = append(names, f.name)
	}
	return names, nil
}

// blocks reads a list of blocks of data.
func blocks(what string, v starlark.Value) (names []string, err error) {
	list, err := sequence(what, v, "write [d]")
	if err != nil {
		return nil, err
	}
	for _, v := range list {
		d, ok := v.(location)
		if !ok || d.what != "data" || d.off != 0 {
			return nil, fmt.Errorf("%s is %s; give blocks, as data() returns them", what, describe(v))
		}
		names = append(names, d.name)
	}
	return names, nil
}

// doSite makes a site of ftrace.
func (l *loader) doSite(c *call) (starlark.Value, error) {
	return l.site(c, scenario.TheSites, &l.s.Sites)
}

// site adds the place in a function that a call gives as at.
func (l *loader) site(c *call, of scenario.List, to *[]scenario.Site) (starlark.Value, error) {
	var v starlark.Value
	if err := c.unpack("at", &v); err != nil {
		return nil, err
	}
	f, err := function("at", v)
	if err != nil {
		return nil, err
	}
	l.position[scenario.PartOf(of, len(*to))] = c.at
	*to = append(*to, scenario.Site{Func: f.name, Offset: int(f.off)})
	return starlark.None, nil
}

// onModule makes load and unload.
func onModule(kind scenario.OpKind) func(*loader, *call) (starlark.Value, error) {
	return func(_ *loader, c *call) (starlark.Value, error) {
		var m starlark.Value
		op := scenario.Op{Kind: kind}
		err := c.answered(&op, "m", &m)
		if err != nil {
			return nil, err
		}
		op.Target, err = c.handle("module", "module", m)
		return c.deed(&op, nil), err
	}
}

// doFprobe makes an fprobe.
func (l *loader) doFprobe(c *call) (starlark.Value, error) {
	var fp scenario.Fprobe
	var funcs, entry, exit starlark.Value
	err := c.unpack("name", &fp.Name, "funcs", &funcs, "entry??", &entry, "exit??", &exit)
	if err != nil {
		return nil, err
	}
	if fp.Funcs, err = functions("funcs", funcs); err != nil {
		return nil, err
	}
	for _, h := range []struct {
		what string
		v    starlark.Value
		to   *string
	}{{"entry", entry, &fp.Entry}, {"exit", exit, &fp.Exit}} {
		if h.v != nil {
			at, err := whole(h.what, h.v)
			if err != nil {
				return nil, err
			}
			*h.to = at.name
		}
	}
	l.position[scenario.PartOf(scenario.TheFprobes, len(l.s.Fprobes))] = c.at
	l.s.Fprobes = append(l.s.Fprobes, fp)
	return handle{what: "fprobe", name: fp.Name}, nil
}

// onFprobe makes an operation on an fprobe.
func onFprobe(kind scenario.OpKind) func(*loader, *call) (starlark.Value, error) {
	return func(_ *loader, c *call) (starlark.Value, error) {
		var p starlark.Value
		op := scenario.Op{Kind: kind}
		err := c.answered(&op, "p", &p)
		if err != nil {
			return nil, err
		}
		op.Target, err = c.handle("fprobe", "fprobe", p)
		return c.deed(&op, nil), err
	}
}

// doLocked makes a lock prefix one that comes and goes.
func (l *loader) doLocked(c *call) (starlark.Value, error) {
	return l.site(c, scenario.TheLocked, &l.s.Locked)
}

// doAlternative makes an alternative of an instruction.
func (l *loader) doAlternative(c *call) (starlark.Value, error) {
	var at, hex starlark.Value
	if err := c.unpack("at", &at, "hex", &hex); err != nil {
		return nil, err
	}
	f, err := function("at", at)
	if err != nil {
		return nil, err
	}
	code, err := bytesOf("alternative", hex)
	if err != nil {
		return nil, err
	}
	l.position[scenario.PartOf(scenario.TheAlternatives, len(l.s.Alternatives))] = c.at
	l.s.Alternatives = append(l.s.Alternatives, scenario.Alternative{Func: f.name, Offset: int(f.off), Code: code})
	return starlark.None, nil
}

// doStaticCall makes a static call.
func (l *loader) doStaticCall(c *call) (starlark.Value, error) {
	s := scenario.StaticCall{}
	var sites, tails, trampoline, target starlark.Value
	err := c.unpack("name", &s.Name, "sites??", &sites, "tails??", &tails, "trampoline??", &trampoline, "target??", &target)
	if err != nil {
		return nil, err
	}
	for _, k := range []struct {
		what string
		v    starlark.Value
	}{{"sites", sites}, {"tails", tails}} {
		if k.v == nil {
			continue
		}
		list, err := sequence(k.what, k.v, "write [f + 2]")
		if err != nil {
			return nil, err
		}
		for _, v := range list {
			f, err := function(k.what, v)
			if err != nil {
				return nil, err
			}
			s.Sites = append(s.Sites, scenario.CallSite{Func: f.name, Offset: int(f.off), Tail: k.what == "tails"})
		}
	}
	if trampoline != nil {
		f, err := whole("trampoline", trampoline)
		if err != nil {
			return nil, err
		}
		s.Trampoline = f.name
	}
	if target != nil {
		f, err := whole("target", target)
		if err != nil {
			return nil, err
		}
		s.Target = f.name
	}
	l.position[scenario.PartOf(scenario.TheCalls, len(l.s.Calls))] = c.at
	l.s.Calls = append(l.s.Calls, s)
	return handle{what: "static call", name: s.Name}, nil
}

// onEntry makes an operation on a function's site of ftrace. to is the name of the parameter
// that is the function that it leads to, "" if there is none.
func onEntry(kind scenario.OpKind, to string) func(*loader, *call) (starlark.Value, error) {
	return func(_ *loader, c *call) (starlark.Value, error) {
		var f, g, errno starlark.Value
		op := scenario.Op{Kind: kind}
		params := []any{"f", &f}
		if to != "" {
			params = append(params, to, &g)
		}
		if err := c.unpack(append(params, "errno??", &errno)...); err != nil {
			return nil, err
		}
		from, err := wholes("f", f, kind)
		if err != nil {
			return nil, err
		}
		op.Target = from[0]
		if g != nil {
			into, err := wholes(to, g, kind)
			if err != nil {
				return nil, err
			}
			if len(into) != len(from) {
				return nil, fmt.Errorf("%d functions go on in %d others; give each its own", len(from), len(into))
			}
			op.Targets = into[:1]
			for i := 1; i < len(from); i++ {
				op.Targets = append(op.Targets, from[i], into[i])
			}
		}
		if errno != nil {
			op.Checked = true
			op.Returns, err = errnoOf(errno)
		}
		return c.deed(&op, nil), err
	}
}

// wholes are functions of an operation: one, or several of a live patch.
func wholes(what string, v starlark.Value, kind scenario.OpKind) (names []string, err error) {
	list := []starlark.Value{v}
	if _, many := v.(*starlark.List); many && kind == scenario.OpPatchFunc {
		if list, err = sequence(what, v, "write [f, g]"); err == nil && len(list) == 0 {
			err = fmt.Errorf("%s has no function; write [f, g]", what)
		}
	}
	for _, v := range list {
		f, err := whole(what, v)
		if err != nil {
			return nil, err
		}
		names = append(names, f.name)
	}
	return names, err
}

// onPlace makes an operation on a place in a function.
func onPlace(kind scenario.OpKind) func(*loader, *call) (starlark.Value, error) {
	return func(_ *loader, c *call) (starlark.Value, error) {
		var f starlark.Value
		op := scenario.Op{Kind: kind}
		if err := c.answered(&op, "f", &f); err != nil {
			return nil, err
		}
		at, err := function("f", f)
		op.Target, op.Offset = at.name, int(at.off)
		return c.deed(&op, nil), err
	}
}

// doSetCall makes set_call.
func (l *loader) doSetCall(c *call) (starlark.Value, error) {
	var s, f starlark.Value
	op := scenario.Op{Kind: scenario.OpSetCall}
	err := c.unpack("s", &s, "f", &f)
	if err != nil {
		return nil, err
	}
	if op.Target, err = c.handle("static call", "static_call", s); err != nil {
		return nil, err
	}
	if f != starlark.None {
		to, err := whole("f", f)
		if err != nil {
			return nil, err
		}
		op.Targets = []string{to.name}
	}
	return c.deed(&op, nil), nil
}
