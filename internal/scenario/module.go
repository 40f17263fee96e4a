package scenario

import (
	"fmt"
	"slices"

	"kpsim/smp/arch"
)

// Module is text that is loaded and unloaded during a run: functions of the scenario, in pages
// of their own.
type Module struct {
	Name   string
	Core   []string // functions that stay while it is loaded
	Init   []string // functions that are freed when its init has ended
	Data   []string // data that stay while it is loaded
	Enter  string   // its init function, "" if it has none
	Leave  string   // its exit function, "" if it has none
	Loaded bool     // it is loaded when a run begins, its init done
}

// TheModules is the row of modules.
var TheModules = list(func(s *Scenario) *[]Module { return &s.Modules }, nil, List{
	What: "module", Many: "modules", Most: MaxModules, Counted: "module", Space: others, Given: true,
	Paragraph: InOthers, Touches: TouchPatched,
	Makers: []*Maker{{
		Word: "module",
		Params: []PartParam{
			param("name", PartName, func(m *Module) any { return &m.Name }),
			param("funcs", PartFuncs, func(m *Module) any { return &m.Core }).follows(),
			param("init_funcs", PartFuncs, func(m *Module) any { return &m.Init }).or("[]").follows(),
			param("data", PartBlocks, func(m *Module) any { return &m.Data }).or("[]").follows(),
			param("init", PartFunc, func(m *Module) any { return &m.Enter }).or("None"),
			param("exit", PartFunc, func(m *Module) any { return &m.Leave }).or("None"),
			param("loaded", PartSwitch, func(m *Module) any { return &m.Loaded }).or("False"),
		},
		Says: "`funcs` are in memory while the module is loaded, in pages of their own (`at`); `loaded`: it is " +
			"loaded when a run begins; the function `init` runs when it is loaded, `exit` when it is unloaded; " +
			"`init_funcs` are freed when `init` has returned 0, and lie in pages of their own, too. `data` is " +
			"loaded with it, with its `hex` each time; an access after the module was unloaded is a use after free",
	}},
	all: checker.modules,
})

// others is the space of names of modules and static calls.
const others = "other"

// modules checks modules. Each function belongs to one module or to none, and lies in pages of
// its section alone.
func (c checker) modules(l *List) error {
	sections := make(map[string]string)     // by function; "" for the kernel's
	owners := make(map[arch.Addr]pageOwner) // by page of text
	for i := range c.s.Modules {
		m, p := &c.s.Modules[i], PartOf(l, i)
		who := p.who(m.Name)
		if m.Loaded && c.s.Machine.Modules == LoadingNone {
			return Faultf(p, "%s is loaded when a run begins, and the machine loads none; leave loaded out, or "+
				"modules = \"none\"", who)
		}
		if len(m.Core) == 0 {
			return Faultf(p, "%s has no function that stays; give it funcs = [f]", who)
		}
		for k, names := range [][]string{m.Core, m.Init} {
			for _, name := range names {
				if err := c.function(p, who, name, 0); err != nil {
					return err
				}
				if _, taken := sections[name]; taken {
					return Faultf(p, "%s: function %q is in a module already; give it to one", who, name)
				}
				sections[name] = sectionName(m, k)
			}
		}
		if m.Enter != "" && !slices.Contains(append(slices.Clone(m.Init), m.Core...), m.Enter) || m.Leave != "" &&
			!slices.Contains(m.Core, m.Leave) {
			return Faultf(p, "%s: its init is a function of it, and its exit one that stays; add them to funcs "+
				"or init_funcs", who)
		}
	}
	if len(sections) == 0 {
		return nil
	}
	if err := c.moduleData(l); err != nil {
		return err
	}
	for i := range c.s.Texts {
		t := &c.s.Texts[i]
		mine := pageOwner{t.Name, sections[t.Name]}
		for at := t.At &^ (Page - 1); at < t.At+arch.Addr(len(t.Code)); at += Page {
			other, taken := owners[at]
			if taken && other.section != mine.section {
				return Faultf(PartOf(TheTexts, i),
					"functions %q and %q share the page at %#x, and aren't of one section of one module; give "+
						"one at = another page", other.name, t.Name, uint64(at))
			}
			owners[at] = mine
		}
	}
	return c.within(sections)
}

// within checks that nothing else lies among the functions of a module's section, whose pages come and go as one piece.
func (c checker) within(sections map[string]string) error {
	spans := make(map[string]span)
	for i := range c.s.Texts {
		t := &c.s.Texts[i]
		if of := sections[t.Name]; of != "" {
			from, to := t.At&^(Page-1), (t.At+arch.Addr(len(t.Code))+Page-1)&^(Page-1)
			if was, ok := spans[of]; ok {
				from, to = min(from, was.from), max(to, was.to)
			}
			spans[of] = span{from, to}
		}
	}
	among := func(p Part, what, name, of string, at arch.Addr, n int) error {
		for i := range 2 * len(c.s.Modules) {
			section := sectionName(&c.s.Modules[i/2], i%2)
			in := spans[section]
			if section != of && at < in.to && at+arch.Addr(n) > in.from {
				return Faultf(p, "%s %q lies among the %s, which come and go with all pages between them; give it "+
					"at = another page", what, name, section)
			}
		}
		return nil
	}
	for i := range c.s.Texts {
		t := &c.s.Texts[i]
		if err := among(PartOf(TheTexts, i), "function", t.Name, sections[t.Name], t.At, len(t.Code)); err != nil {
			return err
		}
	}
	for i := range c.s.Datas {
		d := &c.s.Datas[i]
		if err := among(PartOf(TheDatas, i), "data", d.Name, "", d.At, len(d.Bytes)); err != nil && !d.PerCPU {
			return err
		}
	}
	return nil
}

// sectionName names a section of a module: 0 of those that stay, 1 of those that are freed after its init.
func sectionName(m *Module, k int) string {
	return fmt.Sprintf("%s of module %q", [...]string{"funcs", "init_funcs"}[k], m.Name)
}

// A span is the addresses from the first page of a section to the end of its last one.
type span struct{ from, to arch.Addr }

// moduleData checks the data of modules: each is of one, in pages of its own, and
// what only text accesses.
func (c checker) moduleData(l *List) error {
	of := make(map[string]string)
	for i := range c.s.Modules {
		m, p := &c.s.Modules[i], PartOf(l, i)
		for _, name := range m.Data {
			k := slices.IndexFunc(c.s.Datas, func(d Data) bool { return d.Name == name })
			switch {
			case k < 0:
				return Faultf(p, "module %q: no data %q; define it above", m.Name, name)
			case of[name] != "":
				return Faultf(p, "module %q: data %q is in a module already; give it to one", m.Name, name)
			case c.s.Datas[k].PerCPU || c.s.Datas[k].Away:
				return Faultf(p, "module %q: data %q is a CPU's own, or away when a run begins; a module's "+
					"data is neither", m.Name, name)
			}
			of[name] = m.Name
		}
	}
	owners := make(map[arch.Addr]pageOwner)
	for i := range c.s.Datas {
		d := &c.s.Datas[i]
		for at := d.At &^ (Page - 1); !d.PerCPU && at < d.At+arch.Addr(len(d.Bytes)); at += Page {
			other, taken := owners[at]
			if taken && other.section != of[d.Name] {
				return Faultf(PartOf(TheDatas, i),
					"data %q and %q share the page at %#x, and aren't of one module; give one at = another page",
					other.name, d.Name, uint64(at))
			}
			owners[at] = pageOwner{d.Name, of[d.Name]}
		}
	}
	for i := range c.s.Probes {
		for _, steps := range c.s.Probes[i].Handlers() {
			for _, st := range *steps {
				if st.Kind.Has(StepData) && of[st.Target] != "" {
					return Faultf(PartOf(TheProbes, i),
						"probe %q stores to %s, which comes and goes with module %q; have it call a function that does",
						c.s.Probes[i].Name, st.Target, of[st.Target])
				}
			}
		}
	}
	for i := range c.s.Tasks {
		for k := range c.s.Tasks[i].Ops {
			if op := &c.s.Tasks[i].Ops[k]; op.Kind.Has(ParamData) && of[op.Target] != "" {
				return Faultf(PartIn(TheTasks, i, k),
					"expect(): %s comes and goes with module %q; call a function that reads it, with returns",
					op.Target, of[op.Target])
			}
		}
	}
	return nil
}

// A pageOwner is a function in a page, and the section that holds it.
type pageOwner struct{ name, section string }
