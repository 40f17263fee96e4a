package scenario

import (
	"bytes"
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"kpsim/smp/arch"
)

// Module is text that is loaded and unloaded while others run: functions of the
// scenario, in pages of their own.
type Module struct {
	Name   string
	Core   []string // functions that stay while it is loaded
	Init   []string // functions that go when its init has ended
	Data   []string // data that stay while it is loaded
	Enter  string   // the function that is its init, "" if it has none
	Leave  string   // and its exit
	Loaded bool     // a run begins with it loaded, its init done
}

// Site is where a function calls ftrace: a 5-byte nop at its beginning, or behind
// an endbr64.
type Site struct {
	Func   string
	Offset int
}

const (
	endbrLen = 4
	callLen  = 5
)

// doModule makes a module of functions.
func (l *loader) doModule(c *call) (starlark.Value, error) {
	m := Module{}
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
	l.position[part{theModules, len(l.s.Modules), -1}] = c.at
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
	return l.site(c, theSites, &l.s.Sites)
}

// site adds the place in a function that a call gives as at.
func (l *loader) site(c *call, of list, to *[]Site) (starlark.Value, error) {
	var v starlark.Value
	if err := c.unpack("at", &v); err != nil {
		return nil, err
	}
	f, err := function("at", v)
	if err != nil {
		return nil, err
	}
	l.position[part{of, len(*to), -1}] = c.at
	*to = append(*to, Site{Func: f.name, Offset: int(f.off)})
	return starlark.None, nil
}

// onModule makes load and unload.
func onModule(kind OpKind) func(*loader, *call) (starlark.Value, error) {
	return func(_ *loader, c *call) (starlark.Value, error) {
		var m starlark.Value
		op := Op{Kind: kind}
		err := c.answered(&op, "m", &m)
		if err != nil {
			return nil, err
		}
		op.Target, err = c.handle("module", "module", m)
		return c.deed(&op, nil), err
	}
}

// around checks modules, sites of ftrace and static calls.
func (c checker) around() error {
	if err := c.modules(); err != nil {
		return err
	}
	for i := range c.s.Sites {
		s, p := &c.s.Sites[i], part{theSites, i, -1}
		if err := c.function(p, "fentry()", s.Func, s.Offset); err != nil {
			return err
		}
		if s.Offset != 0 && s.Offset != endbrLen || !bytes.HasPrefix(c.text(s.Func).Code[s.Offset:], nop5) {
			return faultf(p, "fentry(): no 5-byte nop begins at %s+%#x; a site stands on 0f1f440000, at a function's first byte or behind its endbr64", s.Func, s.Offset)
		}
	}
	if err := c.locked(); err != nil {
		return err
	}
	if err := c.reserved(); err != nil {
		return err
	}
	for i := range c.s.Calls {
		if err := c.staticCall(&c.s.Calls[i], part{theCalls, i, -1}); err != nil {
			return err
		}
	}
	return nil
}

// modules checks modules: each function is of one, or of none, and in pages of
// its section's own.
func (c checker) modules() error {
	sections := make(map[string]string)     // of each function, "" of the kernel's
	owners := make(map[arch.Addr]pageOwner) // of each page of text
	for i := range c.s.Modules {
		m, p := &c.s.Modules[i], part{theModules, i, -1}
		who := fmt.Sprintf("module %q", m.Name)
		if m.Loaded && c.s.Machine.Modules == LoadingNone {
			return faultf(p, "%s is loaded when a run begins, and the machine loads none; leave loaded out, or modules = \"none\"", who)
		}
		if len(m.Core) == 0 {
			return faultf(p, "%s has no function that stays; give it funcs = [f]", who)
		}
		for k, names := range [][]string{m.Core, m.Init} {
			for _, name := range names {
				if err := c.function(p, who, name, 0); err != nil {
					return err
				}
				if _, taken := sections[name]; taken {
					return faultf(p, "%s: function %q is in a module already; give it to one", who, name)
				}
				sections[name] = fmt.Sprintf("%s, section %d", who, k)
			}
		}
		if m.Enter != "" && !slices.Contains(append(slices.Clone(m.Init), m.Core...), m.Enter) || m.Leave != "" && !slices.Contains(m.Core, m.Leave) {
			return faultf(p, "%s: its init is a function of it, and its exit one that stays; add them to funcs or init_funcs", who)
		}
	}
	if len(sections) == 0 {
		return nil
	}
	if err := c.moduleData(); err != nil {
		return err
	}
	for i := range c.s.Texts {
		t := &c.s.Texts[i]
		mine := pageOwner{t.Name, sections[t.Name]}
		for at := t.At &^ (page - 1); at < t.At+arch.Addr(len(t.Code)); at += page {
			other, taken := owners[at]
			if taken && other.section != mine.section {
				return faultf(part{theTexts, i, -1}, "functions %q and %q share the page at %#x, and aren't of one section of one module; give one at = another page", other.name, t.Name, uint64(at))
			}
			owners[at] = mine
		}
	}
	return nil
}

// moduleData checks the data of modules: each is of one, in pages of its own, and
// what only text accesses.
func (c checker) moduleData() error {
	of := make(map[string]string)
	for i := range c.s.Modules {
		m, p := &c.s.Modules[i], part{theModules, i, -1}
		for _, name := range m.Data {
			k := slices.IndexFunc(c.s.Datas, func(d Data) bool { return d.Name == name })
			switch {
			case k < 0:
				return faultf(p, "module %q: no data %q; define it above", m.Name, name)
			case of[name] != "":
				return faultf(p, "module %q: data %q is in a module already; give it to one", m.Name, name)
			case c.s.Datas[k].PerCPU || c.s.Datas[k].Away:
				return faultf(p, "module %q: data %q is a CPU's own, or away when a run begins; a module's data is neither", m.Name, name)
			}
			of[name] = m.Name
		}
	}
	owners := make(map[arch.Addr]pageOwner)
	for i := range c.s.Datas {
		d := &c.s.Datas[i]
		for at := d.At &^ (page - 1); !d.PerCPU && at < d.At+arch.Addr(len(d.Bytes)); at += page {
			other, taken := owners[at]
			if taken && other.section != of[d.Name] {
				return faultf(part{theDatas, i, -1}, "data %q and %q share the page at %#x, and aren't of one module; give one at = another page", other.name, d.Name, uint64(at))
			}
			owners[at] = pageOwner{d.Name, of[d.Name]}
		}
	}
	for i := range c.s.Probes {
		for _, steps := range c.s.Probes[i].handlers() {
			for _, st := range *steps {
				if st.Kind == StepStore && of[st.Func] != "" {
					return faultf(part{theProbes, i, -1}, "probe %q stores to %s, which comes and goes with module %q; have it call a function that does", c.s.Probes[i].Name, st.Func, of[st.Func])
				}
			}
		}
	}
	for i := range c.s.Tasks {
		for k := range c.s.Tasks[i].Ops {
			if op := &c.s.Tasks[i].Ops[k]; op.Kind == OpExpect && of[op.Target] != "" {
				return faultf(part{theTasks, i, k}, "expect(): %s comes and goes with module %q; call a function that reads it, with returns", op.Target, of[op.Target])
			}
		}
	}
	return nil
}

// A pageOwner is a function of a page, and the section that it is in.
type pageOwner struct{ name, section string }

// around prints modules, sites and static calls.
func (p *printer) around(s *Scenario) {
	p.gap(len(s.Modules) + len(s.Sites) + len(s.Locked) + len(s.Calls) + len(s.Reserved))
	names := func(list []string) string {
		text := ""
		for i, name := range list {
			if i > 0 {
				text += ", "
			}
			text += p.symbols[name]
		}
		return "[" + text + "]"
	}
	for i := range s.Modules {
		m := &s.Modules[i]
		id := p.ident(m.Name)
		p.labels["module "+m.Name] = id
		p.assign(id, "module", quote(m.Name), "funcs = "+names(m.Core), p.unless(len(m.Init) == 0, "init_funcs", names(m.Init)), p.unless(len(m.Data) == 0, "data", names(m.Data)),
			p.unless(m.Enter == "", "init", p.symbols[m.Enter]), p.unless(m.Leave == "", "exit", p.symbols[m.Leave]), p.unless(!m.Loaded, "loaded", "True"))
	}
	for i := range s.Sites {
		p.call("fentry", p.place(s.Sites[i].Func, uint64(s.Sites[i].Offset)))
	}
	for i := range s.Locked {
		p.call("lock_prefix", p.place(s.Locked[i].Func, uint64(s.Locked[i].Offset)))
	}
	for i := range s.Calls {
		k := &s.Calls[i]
		id := p.ident(k.Name)
		p.labels["call "+k.Name] = id
		places := [2]string{}
		for _, t := range k.Sites {
			list := &places[0]
			if t.Tail {
				list = &places[1]
			}
			if *list != "" {
				*list += ", "
			}
			*list += p.place(t.Func, uint64(t.Offset))
		}
		p.assign(id, "static_call", quote(k.Name), p.unless(places[0] == "", "sites", "["+places[0]+"]"), p.unless(places[1] == "", "tails", "["+places[1]+"]"),
			p.unless(k.Trampoline == "", "trampoline", p.symbols[k.Trampoline]),
			p.unless(k.Target == "", "target", p.symbols[k.Target]))
	}
	p.printReserved(s)
}

// usedAround are the functions that modules, sites and static calls name.
func (s *Scenario) usedAround(used map[string]bool) {
	for i := range s.Modules {
		m := &s.Modules[i]
		used[m.Enter], used[m.Leave] = true, true
	}
	for _, t := range slices.Concat(s.Sites, s.Locked) {
		used[t.Func] = true
	}
	for i := range s.Calls {
		used[s.Calls[i].Target] = true
		for _, t := range s.Calls[i].places() {
			used[t.Func] = true
		}
	}
	for i := range s.Tasks {
		for _, op := range s.Tasks[i].Ops {
			if op.Kind == OpSetCall && len(op.Targets) > 0 {
				used[op.Targets[0]] = true
			}
		}
	}
}

// fewerAround leaves modules, whose functions stay as the kernel's own, sites and
// static calls out, with the operations on them.
func (s *Scenario) fewerAround(list []Edit) []Edit {
	for i := len(s.Modules) - 1; i >= 0; i-- {
		name := s.Modules[i].Name
		list = append(list, Edit{Says: "module " + name + " left out", apply: func(c *Scenario) {
			c.Modules = slices.Delete(c.Modules, i, i+1)
			c.dropOps(func(op *Op) bool { return (op.Kind == OpLoad || op.Kind == OpUnload) && op.Target == name })
		}})
	}
	for i := len(s.Sites) - 1; i >= 0; i-- {
		list = append(list, Edit{Says: "site of " + s.Sites[i].Func + " left out", apply: func(c *Scenario) { c.Sites = slices.Delete(c.Sites, i, i+1) }})
	}
	for i := len(s.Locked) - 1; i >= 0; i-- {
		list = append(list, Edit{Says: "lock prefix of " + s.Locked[i].Func + " left out", apply: func(c *Scenario) { c.Locked = slices.Delete(c.Locked, i, i+1) }})
	}
	for i := len(s.Reserved) - 1; i >= 0; i-- {
		list = append(list, Edit{Says: fmt.Sprintf("reserved place in %s left out", s.Reserved[i].Func), apply: func(c *Scenario) { c.Reserved = slices.Delete(c.Reserved, i, i+1) }})
	}
	for i := len(s.Calls) - 1; i >= 0; i-- {
		name := s.Calls[i].Name
		list = append(list, Edit{Says: "static call " + name + " left out", apply: func(c *Scenario) {
			c.Calls = slices.Delete(c.Calls, i, i+1)
			c.dropOps(func(op *Op) bool { return op.Kind == OpSetCall && op.Target == name })
		}})
	}
	return list
}

// dropData leaves a block of data out, also of its module.
func (s *Scenario) dropData(i int) {
	name := s.Datas[i].Name
	s.Datas = slices.Delete(s.Datas, i, i+1)
	for k := range s.Modules {
		m := &s.Modules[k]
		m.Data = slices.DeleteFunc(slices.Clone(m.Data), func(n string) bool { return n == name })
	}
}

// dropText leaves a function out, also of its module.
func (s *Scenario) dropText(i int) {
	name := s.Texts[i].Name
	s.Texts = slices.Delete(s.Texts, i, i+1)
	s.Reserved = slices.DeleteFunc(s.Reserved, func(r Reserved) bool { return r.Func == name })
	for k := range s.Modules {
		m := &s.Modules[k]
		is := func(n string) bool { return n == name }
		m.Core, m.Init = slices.DeleteFunc(slices.Clone(m.Core), is), slices.DeleteFunc(slices.Clone(m.Init), is)
	}
}
