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
	err := c.unpack("name", &m.Name, "funcs", &core, "init_funcs??", &init, "data??", &data, "init??", &enter, "exit??",
		&leave, "loaded?", &m.Loaded)
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

// doLocked makes a lock prefix one that is patched in and out.
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
	err := c.unpack("name", &s.Name, "sites??", &sites, "tails??", &tails, "trampoline??", &trampoline, "target??",
		&target)
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
