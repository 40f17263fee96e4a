package rig

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"kpsim/engine"
	"kpsim/engine/fprobe"
	"kpsim/engine/livepatch"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A Plan is what is built once from a scenario, and stays as it is in all runs: the machine
// and its kernel, and where functions, data and modules are in memory.
type Plan struct {
	Scenario *scenario.Scenario
	Machine  *smp.Machine
	Kernel   *kernel.Kernel
	Log      traces.Log

	arch    *arch.Arch
	row     *engine.Row
	twin    bool      // without probes
	anyOf   []uint64  // the values that anyRegs assigns
	lost    uint64    // by number, a bit each: registers that sites of ftrace and return probes use, which calls change
	refuses bool      // the kernel refuses a direct call where a function is patched live, and the reverse
	flags   bool      // calls keep the flags that they end with
	caller  arch.Addr // the kernel's own trampoline of ftrace; 0: kpsim's
	funcs   map[string]arch.Addr
	modules []*kernel.Module
	nops    map[string]arch.Code // by function: what boot has written at its site of ftrace
	entered []arch.Addr          // functions that find their own address in a register (arch.Registers.Entry)
}

func newPlan(sc *scenario.Scenario, twin bool) *Plan {
	a := sc.Machine.Processor()
	p := &Plan{Scenario: sc, arch: a, row: sc.Machine.Row(), twin: twin, flags: true, anyOf: anyValues(a),
		funcs: make(map[string]arch.Addr)}
	if form, ok := p.siteForm(); ok && len(sc.Sites) > 0 && a.Pushed == 0 {
		p.lost = (1<<form.Link | 1<<form.Parent) &^ (1 << a.Link)
	}
	if a.LinkAt != 0 && slices.ContainsFunc(sc.Probes, func(k scenario.Probe) bool {
		return k.Kind == scenario.ProbeKretprobe
	}) {
		p.lost |= 1 << a.LinkBy
	}
	for i := range sc.Texts {
		if t := &sc.Texts[i]; a.LocalEntry(t.Code) != 0 {
			p.entered = append(p.entered, t.At)
		}
	}
	return p
}

// guestBudget is the budget of boundaries of a run whose engine is guest code itself.
const guestBudget = 20 * smp.DefaultBudget

// boot makes the machine and boots its kernel, which has no text yet.
func (p *Plan) boot(settings any) (err error) {
	c := &p.Scenario.Machine
	if g, is := settings.(engine.Guest); is {
		p.lost, p.flags = p.lost|g.Lost(len(p.Scenario.Sites) > 0), g.KeepsFlags()
		p.refuses = !g.SharesDirects()
		if !p.twin {
			p.caller = g.Caller()
		}
	}
	budget := uint64(c.Steps)
	if p.row.Boot != nil && budget == 0 {
		budget = guestBudget
	}
	p.Machine, err = smp.New(smp.Config{
		CPUs:    c.CPUs,
		Fetch:   c.Fetch,
		Memory:  c.Memory,
		FRED:    c.FRED,
		Late:    c.Late,
		NoHZ:    c.NoHZ,
		Offline: c.Offline,
		Arch:    p.arch,
		Full:    c.Preempt >= scenario.PreemptFull,
		Lazy:    c.Preempt == scenario.PreemptLazy,
		Budget:  budget,
	}, &p.Log)
	if err == nil {
		p.Kernel = kernel.Boot(p.Machine, kernelOf(p.Scenario, p.row, settings))
	}
	return err
}

// watch watches the whole instructions that a jump at a place would cover.
func (p *Plan) watch(name string, off int) {
	t := p.Text(name)
	n := 0
	for n < p.arch.BranchLen && off+n < len(t.Code) {
		in, err := p.arch.Decode(t.Code[off+n:], t.At+arch.Addr(off+n))
		if err != nil {
			n++
			continue
		}
		n += in.Size()
	}
	p.Machine.Memory().Watch(t.At+arch.Addr(off), n)
}

// Func returns where a function of the scenario begins.
func (p *Plan) Func(name string) (at arch.Addr, ok bool) {
	at, ok = p.funcs[name]
	return at, ok
}

// Text returns a function of the scenario.
func (p *Plan) Text(name string) *scenario.Text {
	for i := range p.Scenario.Texts {
		if p.Scenario.Texts[i].Name == name {
			return &p.Scenario.Texts[i]
		}
	}
	sim.Bug("scenario %s was not checked: no function %s", p.Scenario.Name, name)
	return nil
}

// mapTexts puts the functions into memory. A module's functions appear when the module is
// loaded.
func (p *Plan) mapTexts() {
	sc, m := p.Scenario, p.Machine
	owned := make(map[string]bool)
	for i := range sc.Modules {
		k := &sc.Modules[i]
		var texts []kernel.ModuleText
		for j, name := range slices.Concat(k.Core, k.Init) {
			t := p.Text(name)
			owned[name] = true
			texts = append(texts, kernel.ModuleText{Name: t.Name, At: t.At, Code: p.Code(t), Extable: t.Extable,
				Init: j >= len(k.Core)})
			p.funcs[t.Name] = t.At
		}
		mod := p.Kernel.Modules.NewModule(k.Name, texts, p.funcs[k.Enter], p.funcs[k.Leave], k.Loaded)
		p.modules = append(p.modules, mod)
		for _, d := range byAddress(sc, k.Data) {
			m.Memory().Map(d.At, d.Bytes, smp.PermRead|smp.PermWrite)
		}
		for _, d := range byAddress(sc, k.Data) {
			mod.AddData(d.At, len(d.Bytes))
		}
	}
	for i := range sc.Texts {
		switch t := &sc.Texts[i]; {
		case owned[t.Name]:
		case t.Own:
			p.funcs[t.Name] = t.At // patchers make it
			owned[t.Name] = true
		default:
			m.Memory().Map(t.At, p.Code(t), smp.PermRead|smp.PermExec)
			m.Names().AddSymbol(t.Name, t.At, len(t.Code))
			p.funcs[t.Name] = t.At
			p.Kernel.Symbols.Add(kapi.Function{Name: t.Name, Addr: t.At, Size: len(t.Code)}, t.Extable)
		}
	}
	if p.twin {
		p.fence(owned)
	}
}

// mapData puts the data into memory, except for that of modules, and names it and the missing
// symbols.
func (p *Plan) mapData() {
	names := p.Machine.Names()
	for i := range p.Scenario.Datas {
		d := &p.Scenario.Datas[i]
		names.AddSymbol(d.Name, d.At, len(d.Bytes))
		switch {
		case p.moduleOf(d.Name) != "":
		case d.Away:
			p.Kernel.Away(d.At, d.Bytes)
		case d.PerCPU:
			for c := range p.Scenario.Machine.CPUs {
				at := kernel.PerCPUOffset(p.arch, c) + d.At
				p.Machine.Memory().Map(at, d.Bytes, smp.PermRead|smp.PermWrite)
				names.AddSymbol(fmt.Sprintf("%s of cpu%d", d.Name, c), at, len(d.Bytes))
			}
		default:
			p.Machine.Memory().Map(d.At, d.Bytes, smp.PermRead|smp.PermWrite)
		}
	}
	for i := range p.Scenario.Missing {
		s := &p.Scenario.Missing[i]
		names.AddSymbol(s.Name, s.At, s.Size)
	}
}

// siteForm returns how functions call ftrace. ok false: they don't on this processor.
func (p *Plan) siteForm() (f *arch.SiteForm, ok bool) {
	return p.Scenario.SiteForm()
}

// siteOf returns where a function calls ftrace, 0 if it doesn't.
func (p *Plan) siteOf(name string) arch.Addr {
	for _, s := range p.Scenario.Sites {
		if s.Func == name {
			form, _ := p.siteForm()
			return form.At(p.funcs[name] + arch.Addr(s.Offset))
		}
	}
	return 0
}

// moduleOf returns the name of the module that owns a function or data, "" if none does.
func (p *Plan) moduleOf(name string) string {
	for _, m := range p.Scenario.Modules {
		if slices.Contains(slices.Concat(m.Core, m.Init, m.Data), name) {
			return m.Name
		}
	}
	return ""
}

// breakpoint returns where an operation of the debugger sets or clears a breakpoint.
func (p *Plan) breakpoint(op *scenario.Op) arch.Addr {
	return p.funcs[op.Target] + arch.Addr(op.Offset)
}

// data returns the address of a block of data, or of a CPU's copy of it.
func (p *Plan) data(name string, cpu int) arch.Addr {
	if d := p.block(name); d != nil {
		return p.copyAt(d, cpu)
	}
	return 0
}

// block returns the block of data of that name, nil if there is none.
func (p *Plan) block(name string) *scenario.Data {
	for i := range p.Scenario.Datas {
		if d := &p.Scenario.Datas[i]; d.Name == name {
			return d
		}
	}
	return nil
}

// copyAt returns the address at which a CPU finds a block of data.
func (p *Plan) copyAt(d *scenario.Data, cpu int) arch.Addr {
	if d.PerCPU {
		return kernel.PerCPUOffset(p.arch, cpu) + d.At
	}
	return d.At
}

// missingAt returns the missing symbol at an address, "" if there is none.
func (p *Plan) missingAt(a arch.Addr) string {
	for i := range p.Scenario.Missing {
		if s := &p.Scenario.Missing[i]; a >= s.At && a < s.At+arch.Addr(s.Size) {
			return s.Name
		}
	}
	return ""
}

// textAt returns the scenario's function that holds an address. If there is none, it returns
// the last function before the address in the same page.
func (p *Plan) textAt(a arch.Addr) (before *scenario.Text) {
	for i := range p.Scenario.Texts {
		t := &p.Scenario.Texts[i]
		end := t.At + arch.Addr(len(t.Code))
		if a >= t.At && a < end {
			return t
		}
		if a >= end && a-end < smp.PageSize && (before == nil || t.At > before.At) {
			before = t
		}
	}
	return before
}

// Code returns a function's text as the machine's kernel has it: bytes that are rewritten
// later hold that kernel's own nop.
func (p *Plan) Code(t *scenario.Text) []byte {
	said := p.Scenario.Machine.Arch.Row(true) // as scenarios write them
	form, _ := p.siteForm()
	before := form != nil && len(form.Before) > 0 && len(p.Scenario.Sites) > 0
	if said.BranchNop == p.arch.BranchNop && !before && p.nops == nil {
		return t.Code
	}
	code := slices.Clone(t.Code)
	put := func(name string, off int) {
		for i := range said.Labels {
			if name == t.Name && bytes.HasPrefix(code[off:], said.Labels[i].Nop.Bytes()) {
				copy(code[off:], p.arch.Labels[i].Nop.Bytes())
			}
		}
	}
	for _, s := range p.Scenario.Sites {
		put(s.Func, s.Offset)
		if s.Func != t.Name {
			continue
		}
		if before { // boot has written it (ftrace_init_nop)
			copy(code[s.Offset:], form.Before)
		}
		if nop, ok := p.nops[t.Name]; ok {
			copy(code[s.Offset+len(form.Before):], nop.Bytes())
		}
	}
	for i := range p.Scenario.Labels {
		for _, s := range p.Scenario.Labels[i].Sites {
			put(s.Func, s.Offset)
		}
	}
	return code
}

// span returns the addresses of a function.
func span(t *scenario.Text) kapi.Span {
	return kapi.Span{From: t.At, To: t.At + arch.Addr(len(t.Code))}
}

// patchOf returns the functions of a live patch.
func (p *Plan) patchOf(op *scenario.Op) (list []livepatch.Func) {
	op.Pairs(func(f, g string) {
		list = append(list, livepatch.Func{Old: span(p.Text(f)), New: span(p.Text(g))})
	})
	return list
}

// setArgs gives a call its arguments.
func (p *Plan) setArgs(regs *arch.Regs, args []uint64) {
	for i, a := range args {
		regs.R[p.arch.Args[i]] = a
	}
}

// anyRegs gives the registers values that no task has left there, so that each call of f starts
// alike, whatever ran before. A call is one through a pointer.
func (p *Plan) anyRegs(regs *arch.Regs, f arch.Addr) {
	was := regs.R
	copy(regs.R[:], p.anyOf)
	regs.R[p.arch.SP] = was[p.arch.SP]
	for _, own := range p.arch.Own {
		regs.R[own] = was[own]
	}
	if slices.Contains(p.entered, f) {
		regs.R[p.arch.Entry] = uint64(f)
	}
	regs.Flags = regs.Flags&arch.IRQ | p.arch.FixedFlag
}

// anyValues returns the values that anyRegs assigns on a machine of architecture a.
func anyValues(a *arch.Arch) []uint64 {
	values := make([]uint64, len(a.RegNames))
	for i := range values {
		values[i] = uint64(a.Addr(arch.Addr(sim.Mix(uint64(i)))))
	}
	return values
}

// called returns the function that an operation calls.
func (p *Plan) called(op *scenario.Op) (f called) {
	if op.Kind == act.Call {
		f.from = p.funcs[op.Target]
		f.to = f.from + arch.Addr(len(p.Text(op.Target).Code))
	}
	return f
}

// index returns the number of a probe.
func (p *Plan) index(name string) int {
	for i := range p.Scenario.Probes {
		if p.Scenario.Probes[i].Name == name {
			return i
		}
	}
	sim.Bug("scenario %s was not checked: no probe %s", p.Scenario.Name, name)
	return 0
}

// taskName returns the name of a task of the machine.
func (p *Plan) taskName(id uint64) string {
	if list := p.Machine.Tasks().All(); id < uint64(len(list)) {
		return list[id].Name
	}
	return fmt.Sprint(id)
}

// fence puts a breakpoint after each function that isn't followed directly by another one. The
// zeros there would otherwise be executed as instructions. The next function may begin where the shortest one ends.
func (p *Plan) fence(owned map[string]bool) {
	begin := make(map[arch.Addr]bool)
	for i := range p.Scenario.Texts {
		begin[p.Scenario.Texts[i].At] = true
	}
	for i := range p.Scenario.Texts {
		t := &p.Scenario.Texts[i]
		if end := t.At + arch.Addr(len(t.Code)); !owned[t.Name] && !begin[end] && end%smp.PageSize != 0 {
			p.Machine.Memory().Map(end, p.arch.ShortBreak(), smp.PermRead|smp.PermExec)
		}
	}
}

// byAddress returns blocks of data in ascending order.
func byAddress(sc *scenario.Scenario, names []string) (list []*scenario.Data) {
	for i := range sc.Datas {
		if d := &sc.Datas[i]; slices.Contains(names, d.Name) {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b *scenario.Data) int { return cmp.Compare(a.At, b.At) })
	return list
}

// image tells the monitors about an instruction that may stand at a place.
func (p *Plan) image(at arch.Addr, insn []byte) {
	lo, hi := traces.PackBytes(insn)
	p.Log.Emit(smpev.Image, 255, traces.NoTask, uint64(at), lo, hi)
}

// claim sends an event to the monitors alone.
func (p *Plan) claim(k traces.Kind, a, b, c uint64) { p.Log.Tell(k, 255, traces.NoTask, a, b, c) }

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// A listing is the text as it was linked, which a run reports first.
type listing struct {
	*Plan
	insns []insn
	told  bool        // an earlier run has reported it
	end   traces.Mark // the position after it in a log, if told
}

// insn is an instruction of original text, as in the head of a log.
type insn struct{ addr, lo, hi uint64 }

// add adds a function.
func (l *listing) add(t *scenario.Text) error {
	code := l.Code(t)
	for off := 0; off < len(code); {
		in, err := l.arch.Decode(code[off:], t.At+arch.Addr(off))
		if err != nil && len(bytes.Trim(code[off:], "\x00")) == 0 {
			break // half an instruction of the zeros after a section
		}
		if err != nil {
			return l.textFault(t, fmt.Errorf("%s: %s+%#x: % x: %w", l.Scenario.Name, t.Name, off,
				code[off:min(off+15, len(code))], err))
		}
		lo, hi := traces.PackBytes(code[off : off+in.Size()])
		l.insns = append(l.insns, insn{uint64(t.At) + uint64(off), lo, hi})
		off += in.Size()
	}
	return nil
}

// addWatched adds the functions of which the machine watches a part.
func (l *listing) addWatched(watched bool) error {
	for i := range l.Scenario.Texts {
		if t := &l.Scenario.Texts[i]; !t.Own && l.Machine.Memory().Watched(t.At, len(t.Code)) == watched {
			if err := l.add(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// tell reports it.
func (l *listing) tell() {
	for _, in := range l.insns {
		l.Log.Emit(smpev.Load, 255, traces.NoTask, in.addr, in.lo, in.hi)
	}
	l.end = l.Log.Mark(smpev.Load)
}

// handlersOf returns what an fprobe calls.
func (p *Plan) handlersOf(fp *scenario.Fprobe) fprobe.Handlers {
	h := fprobe.Handlers{Entry: p.funcs[fp.Entry], Exit: p.funcs[fp.Exit], Skips: fp.Skips,
		Nodes: cmp.Or(fp.Maxactive, fprobe.Nodes)}
	if len(fp.Data) > 0 {
		d := p.Scenario.Data(fp.Data[0])
		h.Data, h.Size = d.At, len(d.Bytes)/h.Nodes
	}
	return h
}
