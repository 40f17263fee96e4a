package scenario

import (
	"bytes"
	"cmp"
	"slices"

	"kpsim/engine/fprobe"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/image"
)

// Site is where a function calls ftrace: a nop at its beginning, or after an endbr64.
type Site struct {
	Func   string
	Offset int
}

const EndbrLen = 4

// siteAt is the parameter of what makes a Site.
var siteAt = param("at", PartPlace, func(t *Site) any { return Place{&t.Func, &t.Offset} }).bare()

// The variables are the rows of places that ftrace and alternatives write to.
var (
	TheSites = list(func(s *Scenario) *[]Site { return &s.Sites }, checker.checkSite, List{
		What: "site", Many: "sites of ftrace", Most: MaxTexts, Counted: "ftrace site",
		Paragraph: InOthers, Touches: TouchPatched,
		patched: func(s *Scenario, x any) []Patched {
			t, n := x.(*Site), 0
			if f, ok := s.SiteForm(); ok {
				n = f.Compiled
			}
			return []Patched{{Func: t.Func, Offset: t.Offset, Len: n, Kind: image.SiteFentry}}
		},
		Makers: []*Maker{{
			Word:   "fentry",
			Params: []PartParam{siteAt},
			Says: "ftrace's site: the 5-byte nop at a function's beginning, or after its endbr64, that becomes a " +
				"call while a client wants it; elsewhere eight bytes of nops, on arm64 also after `bti c`. " +
				"With `machine(ftrace = True)` a probe there goes through it. On a " +
				"machine with ftrace or a `tracer()` an object's calls of `__fentry__` are such sites automatically",
			Kernel: []string{"__fentry__", "mcount"},
		}},
		Going: "site of",
		// probes use the site at their place
		Used: func(op *Op) bool { return op.Kind.Traits&Sited != 0 || op.Kind.Takes(TheProbes) },
	})

	TheLocked = list(func(s *Scenario) *[]Site { return &s.Locked }, checker.checkLocked, List{
		What: "lock prefix", Many: "lock prefixes", Most: MaxModules, Counted: "lock prefix",
		Paragraph: InOthers, Touches: TouchPatched,
		patched: writes(func(t *Site) []Patched {
			return []Patched{{Func: t.Func, Offset: t.Offset, Len: 1, Kind: image.SiteLock}}
		}),
		Makers: []*Maker{{
			Word:   "lock_prefix",
			Params: []PartParam{siteAt},
			Says: "the instruction at `f`, or `f + 4`, begins with a lock prefix (`f0`), which alternatives remove " +
				"while only one CPU is online. No jump covers it",
		}},
		Going: "lock prefix of",
		Used:  func(op *Op) bool { return op.Kind.Traits&Locks != 0 },
	})
)

func (c checker) checkSite(p Part, s *Site) error {
	if err := c.function(p, "fentry()", s.Func, s.Offset); err != nil {
		return err
	}
	a := c.s.Machine.Processor()
	form, ok := c.s.SiteForm()
	if !ok {
		return Faultf(p, "fentry(): with patch = %q no kernel of %s has sites; leave patch out", c.s.Machine.Patch,
			a.Name)
	}
	if !c.s.SiteAt(form, c.s.Text(s.Func), s.Offset) {
		where := "at a function's first byte"
		if a.Pad != "" {
			where += " or behind its " + a.Pad
		}
		return Faultf(p, "fentry(): no %d-byte nop begins at %s+%#x; a site stands on %s, %s", form.Compiled, s.Func,
			s.Offset, a.Hex(a.Nop(form.Compiled)), where)
	}
	return nil
}

// SiteForm returns how functions call ftrace on the machine. ok false: they don't.
func (s *Scenario) SiteForm() (f *arch.SiteForm, ok bool) {
	return s.Machine.Processor().SiteForm(s.Machine.Patch == era.PatchStopMachine, s.Machine.Stubs)
}

// SiteAt reports whether a site may stand at an offset of a function: at its beginning, behind the instruction that
// indirect branches lead to or where calls from the same text enter it, and on nothing but nops.
func (s *Scenario) SiteAt(form *arch.SiteForm, t *Text, off int) bool {
	a := s.Machine.Processor()
	local, _ := rules.LocalEntry(&s.Machine.Kernel, t.Code, -1)
	if off != 0 && off != local && (off != EndbrLen || a.Pad == "") || len(t.Code) < off+form.Compiled {
		return false
	}
	code := t.Code[off : off+form.Compiled]
	if form.Compiled == a.BranchLen && a.BreakpointFirst { // one nop, in the kernel's form
		return bytes.HasPrefix(code, a.BranchNop.Bytes())
	}
	for len(code) > 0 {
		in, err := a.Decode(code, t.At)
		if err != nil || !in.IsNop() {
			return false
		}
		code = code[in.Size():]
	}
	return true
}

// lockPrefix is the first byte of an instruction in Locked.
const lockPrefix = 0xf0

func (c checker) checkLocked(p Part, s *Site) error {
	if err := c.function(p, "lock_prefix()", s.Func, s.Offset); err != nil {
		return err
	}
	if c.s.Text(s.Func).Code[s.Offset] != lockPrefix {
		return Faultf(p, "lock_prefix(): the byte at %s+%#x isn't a lock prefix, f0; give the place of one "+
			"that an instruction begins with", s.Func, s.Offset)
	}
	return nil
}

// Fprobe is a client of ftrace for several functions. One function is called when a call of
// any of them begins, another one when the call has returned.
type Fprobe struct {
	Name  string
	Funcs []string
	Entry string // "": none
	Exit  string // "": none
	Skips bool   // the call isn't followed if the result of Entry isn't 0
	// Maxactive is how many calls are followed at a time; 0: fprobe.Nodes.
	Maxactive int
	Data      []string // one block, of which each call has a part, or none
}

// TheFprobes is the row of fprobes.
var TheFprobes = list(func(s *Scenario) *[]Fprobe { return &s.Fprobes }, checker.checkFprobe, List{
	What: "fprobe", Counted: "fprobe", Unknown: "define it above", Given: true, Paragraph: InOthers,
	Makers: []*Maker{{
		Word: "fprobe",
		Params: []PartParam{
			param("name", PartName, func(f *Fprobe) any { return &f.Name }),
			param("funcs", PartFuncs, func(f *Fprobe) any { return &f.Funcs }).bare(),
			param("entry", PartFunc, func(f *Fprobe) any { return &f.Entry }).or("None"),
			param("exit", PartFunc, func(f *Fprobe) any { return &f.Exit }).or("None"),
			param("skips", PartSwitch, func(f *Fprobe) any { return &f.Skips }).or("False"),
			param("maxactive", PartNumber, func(f *Fprobe) any { return &f.Maxactive }).or("0"),
			param("data", PartBlocks, func(f *Fprobe) any { return &f.Data }).or("[]"),
		},
		Says: "an fprobe (5.18), not yet registered: a client of ftrace for the functions `funcs`, each of which " +
			"needs a site. The function `entry` is called where a call of one begins, `exit` where it has " +
			"returned. `skips` (6.3): if the result of `entry`, an int, isn't 0, `exit` isn't called. `maxactive`: " +
			"how many calls are followed at a time, 4 by default; others are missed. `data = [d]`: each call that is " +
			"followed has an equal part of `d`, to which the fifth argument of both points (`entry_data`)",
	}},
	Fewer: on(func(f *Fprobe) (list []Change[any]) {
		for k := len(f.Funcs) - 1; k >= 0 && len(f.Funcs) > 1; k-- {
			list = append(list, Change[any]{f.Funcs[k] + " of fprobe " + f.Name, func(x any) {
				f := x.(*Fprobe)
				f.Funcs = slices.Delete(slices.Clone(f.Funcs), k, k+1)
			}})
		}
		return list
	}),
})

func (c checker) checkFprobe(p Part, fp *Fprobe) error {
	who := p.who(fp.Name)
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
	if err := checkFprobeData(c.s, p, who, fp); err != nil {
		return err
	}
	switch m := &c.s.Machine; {
	case m.Engine != "" && !m.Row().Fprobes:
		return Faultf(p, "%s: fprobes are of kpsim's own kernel, and engine %s knows none; leave it out, "+
			"or take kpsim's own engine", who, m.Engine)
	case m.Edition != rules.EditionNone && m.Edition < rules.Edition65:
		return Faultf(p, "%s: edition %v has no fprobes, which came with 5.18; leave it out, or take a "+
			"later edition", who, m.Edition)
	}
	if slices.ContainsFunc(c.s.Fprobes[:p.I], func(q Fprobe) bool { return q.Name == fp.Name }) {
		return Faultf(p, "%s: there are two of that name; give one another", who)
	}
	return nil
}

// checkFprobeData checks what an fprobe does with a call.
func checkFprobeData(s *Scenario, p Part, who string, fp *Fprobe) error {
	switch {
	case fp.Skips && (fp.Entry == "" || fp.Exit == ""):
		return Faultf(p, "%s: skips is about a handler that leaves out the other; give it entry and exit", who)
	case fp.Maxactive < 0 || fp.Maxactive > fprobe.MostNodes:
		return Faultf(p, "%s: maxactive = %d is out of range; give 1 to %d", who, fp.Maxactive, fprobe.MostNodes)
	case len(fp.Data) == 0:
		return nil
	case len(fp.Data) > 1:
		return Faultf(p, "%s has the data of %d blocks; give it one", who, len(fp.Data))
	case !s.Machine.Arch.Serves(target.FprobeData):
		return Faultf(p, "%s: data is an argument in a register, which i386 hasn't; leave it out", who)
	}
	d := s.Data(fp.Data[0])
	if d == nil || d.PerCPU || d.Away {
		return Faultf(p, "%s: %q is no data that all CPUs have; give it what data() returned", who, fp.Data[0])
	}
	if n := cmp.Or(fp.Maxactive, fprobe.Nodes); len(d.Bytes)%n != 0 {
		return Faultf(p, "%s: the %d bytes of %q aren't shared equally among %d calls; give it a multiple of %d", who,
			len(d.Bytes), fp.Data[0], n, n)
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
