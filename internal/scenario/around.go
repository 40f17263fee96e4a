package scenario

import (
	"bytes"
	"fmt"
	"slices"

	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
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

// Site is where a function calls ftrace: a 5-byte nop at its beginning, or
// after an endbr64.
type Site struct {
	Func   string
	Offset int
}

const (
	EndbrLen = 4
)

// Fprobe is a client of ftrace for several functions. One function is called when a call of
// any of them begins, another one when the call has returned.
type Fprobe struct {
	Name  string
	Funcs []string
	Entry string // "": none
	Exit  string // "": none
}

// fprobes checks fprobes: each function has a site.
func (c checker) fprobes() error {
	for i := range c.s.Fprobes {
		fp, p := &c.s.Fprobes[i], PartOf(TheFprobes, i)
		who := fmt.Sprintf("fprobe %q", fp.Name)
		if err := checkName(p, "fprobe", fp.Name); err != nil {
			return err
		}
		if len(fp.Funcs) == 0 || fp.Entry == "" && fp.Exit == "" {
			return Faultf(p, "%s has no function, or no handler; give it funcs = [f] and entry = or exit =", who)
		}
		for _, f := range fp.Funcs {
			if !slices.ContainsFunc(c.s.Sites, func(s Site) bool { return s.Func == f }) {
				return Faultf(p, "%s: function %q has no site of ftrace; add fentry(%s)", who, f, f)
			}
		}
		for _, f := range []string{fp.Entry, fp.Exit} {
			if err := c.function(p, who, f, 0); f != "" && err != nil {
				return err
			}
		}
		switch m := &c.s.Machine; {
		case m.Engine != "":
			return Faultf(p, "%s: fprobes are of kpsim's own kernel, and engine %s knows none; leave it out, "+
				"or take kpsim's own engine", who, m.Engine)
		case m.Edition != rules.EditionNone && m.Edition < rules.Edition65:
			return Faultf(p, "%s: edition %v has no fprobes, which came with 5.18; leave it out, or take a "+
				"later edition", who, m.Edition)
		}
		if slices.ContainsFunc(c.s.Fprobes[:i], func(q Fprobe) bool { return q.Name == fp.Name }) {
			return Faultf(p, "%s: there are two of that name; give one another", who)
		}
	}
	return nil
}

// hooking checks an operation on an fprobe.
func (c checker) hooking(p Part, who string, op *Op) error {
	if !slices.ContainsFunc(c.s.Fprobes, func(fp Fprobe) bool { return fp.Name == op.Target }) {
		return Faultf(p, "%s: no fprobe %q; define it above", who, op.Target)
	}
	return nil
}

// around checks modules, sites of ftrace and static calls.
func (c checker) around() error {
	if err := c.modules(); err != nil {
		return err
	}
	for i := range c.s.Sites {
		s, p := &c.s.Sites[i], PartOf(TheSites, i)
		if err := c.function(p, "fentry()", s.Func, s.Offset); err != nil {
			return err
		}
		if s.Offset != 0 && s.Offset != EndbrLen || !bytes.HasPrefix(c.s.Text(s.Func).Code[s.Offset:], x86.Nop5[:]) {
			return Faultf(p, "fentry(): no 5-byte nop begins at %s+%#x; a site stands on 0f1f440000, at a "+
				"function's first byte or behind its endbr64", s.Func, s.Offset)
		}
	}
	if err := c.fprobes(); err != nil {
		return err
	}
	if err := c.locked(); err != nil {
		return err
	}
	if err := c.alternatives(); err != nil {
		return err
	}
	if err := c.reserved(); err != nil {
		return err
	}
	for i := range c.s.Calls {
		if err := c.staticCall(&c.s.Calls[i], PartOf(TheCalls, i)); err != nil {
			return err
		}
	}
	return nil
}

// modules checks modules. Each function belongs to one module or to none, and lies in pages of
// its section alone.
func (c checker) modules() error {
	sections := make(map[string]string)     // by function; "" for the kernel's
	owners := make(map[arch.Addr]pageOwner) // by page of text
	for i := range c.s.Modules {
		m, p := &c.s.Modules[i], PartOf(TheModules, i)
		who := fmt.Sprintf("module %q", m.Name)
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
				sections[name] = fmt.Sprintf("%s, section %d", who, k)
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
	if err := c.moduleData(); err != nil {
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
	return nil
}

// moduleData checks the data of modules: each is of one, in pages of its own, and
// what only text accesses.
func (c checker) moduleData() error {
	of := make(map[string]string)
	for i := range c.s.Modules {
		m, p := &c.s.Modules[i], PartOf(TheModules, i)
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
				if st.Kind.Has(StepData) && of[st.Func] != "" {
					return Faultf(PartOf(TheProbes, i),
						"probe %q stores to %s, which comes and goes with module %q; have it call a function that does",
						c.s.Probes[i].Name, st.Func, of[st.Func])
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

// lockPrefix is the first byte of an instruction in Locked.
const lockPrefix = 0xf0

// locked checks lock prefixes.
func (c checker) locked() error {
	for i, s := range c.s.Locked {
		p := PartOf(TheLocked, i)
		if err := c.function(p, "lock_prefix()", s.Func, s.Offset); err != nil {
			return err
		}
		if c.s.Text(s.Func).Code[s.Offset] != lockPrefix {
			return Faultf(p, "lock_prefix(): the byte at %s+%#x isn't a lock prefix, f0; give the place of one "+
				"that an instruction begins with", s.Func, s.Offset)
		}
	}
	return nil
}

// redirected checks the functions of live patches and of direct calls.
func (c checker) redirected(p Part, who string, op *Op) error {
	if len(op.Targets)%2 != 1 || !op.Kind.Has(ParamIntos) && len(op.Targets) != 1 {
		return Faultf(p, "%s: %s leads from a function to another one; give it that", who, op.Kind)
	}
	var err error
	var olds []string
	op.Pairs(func(f, g string) {
		switch {
		case err != nil:
		case f == g:
			err = Faultf(p, "%s: %s leads from a function to another one; give it that", who, op.Kind)
		case slices.Contains(olds, f):
			err = Faultf(p, "%s: %s has %s twice; give each function once", who, op.Kind, f)
		default:
			if err = c.function(p, who, f, 0); err == nil {
				err = c.function(p, who, g, 0)
			}
		}
		olds = append(olds, f)
	})
	return err
}

// Pairs calls do for each function whose site of ftrace an operation redirects, with the
// function that it is redirected to.
func (op *Op) Pairs(do func(from, to string)) {
	from := op.Target
	for i := 0; i < len(op.Targets); i += 2 {
		if i > 0 {
			from = op.Targets[i-1]
		}
		do(from, op.Targets[i])
	}
}

// Redirected reports whether a task does an operation with one of these traits on a function's
// site of ftrace.
func (s *Scenario) Redirected(f string, is Traits) bool {
	return slices.ContainsFunc(s.Tasks, func(t Task) bool {
		return slices.ContainsFunc(t.Ops, func(op Op) bool {
			if op.Kind.Traits&is == 0 {
				return false
			}
			here := op.Target == f
			op.Pairs(func(from, _ string) { here = here || from == f })
			return here
		})
	})
}
