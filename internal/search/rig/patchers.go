package rig

import (
	"cmp"
	"fmt"
	"slices"

	"kpsim/engine"
	"kpsim/engine/debugger"
	"kpsim/engine/fprobe"
	"kpsim/engine/ftrace"
	"kpsim/engine/jumplabel"
	"kpsim/engine/livepatch"
	"kpsim/engine/staticcall"
	"kpsim/engine/uprobe"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/vet"
	"kpsim/kprobes/rules"
	"kpsim/linux"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// patchers holds the other code that patches text, or removes it.
type patchers struct {
	modules  []*kernel.Module
	ofModule map[string]*kernel.Module // by the name of a block of data
	labels   *jumplabel.Labels
	calls    *staticcall.Calls
	act.Clients
	brk     func(x kapi.Context, at arch.Addr) bool // of the debugger; nil: no task sets a breakpoint
	fprobes *fprobe.Probes
}

// bootClients makes the kernel's other clients of text patching. They have no label, no call
// and no site yet.
func (r *Rig) bootClients() {
	k, cells := r.Kernel, &r.Machine.Cells
	r.labels = jumplabel.New(k, &k.Text, &k.Hotplug)
	r.calls = staticcall.New(staticcall.Deps{Boot: k, Cells: cells, Text: &k.Text, CPUs: &k.Hotplug, Patch: &k.Poke})
	r.Ftrace = ftrace.New(ftrace.Deps{Boot: k, Cells: cells, Text: &k.Text, Patch: &k.Poke, RCU: &k.RCU,
		Traps: &k.Traps, ModuleMutex: k.Modules.Mutex})
	r.Patches = livepatch.New(livepatch.Deps{Boot: k, Cells: cells, Text: &k.Text, Ftrace: r.Ftrace.Tracer, RCU: &k.RCU,
		Tasks: &k.Tasks, Switches: &k.Switches,
		Resched: r.Scenario.Machine.Edition >= rules.Edition65 || r.Scenario.Machine.Edition == rules.EditionNone})
	r.Debugger = debugger.New(debugger.Deps{Boot: k, Cells: cells, Text: &k.Text, Sync: &k.Sync, Traps: &k.Traps})
	r.Uprobes = uprobe.New(uprobe.Deps{Boot: k, Arch: r.arch, Traps: &k.Traps})
	r.fprobes = fprobe.New(fprobe.Deps{Boot: k, Cells: cells, Text: &k.Text, Ftrace: r.Ftrace.Tracer, Traps: &k.Traps,
		Tasks: &k.Tasks, CPUs: r.Scenario.Machine.CPUs})
}

// mapTexts puts the functions into memory. A module's functions appear when the module is
// loaded.
func (r *Rig) mapTexts() {
	sc, m := r.Scenario, r.Machine
	owned := make(map[string]bool)
	r.ofModule = make(map[string]*kernel.Module)
	for i := range sc.Modules {
		k := &sc.Modules[i]
		var texts []kernel.ModuleText
		for j, name := range slices.Concat(k.Core, k.Init) {
			t := r.Text(name)
			owned[name] = true
			texts = append(texts, kernel.ModuleText{Name: t.Name, At: t.At, Code: r.Code(t), Extable: t.Extable,
				Init: j >= len(k.Core)})
			r.funcs[t.Name] = t.At
		}
		mod := r.Kernel.Modules.NewModule(k.Name, texts, r.funcs[k.Enter], r.funcs[k.Leave], k.Loaded)
		r.modules = append(r.modules, mod)
		for _, d := range byAddress(sc, k.Data) {
			m.Memory().Map(d.At, d.Bytes, smp.PermRead|smp.PermWrite)
			r.ofModule[d.Name] = mod
		}
		for _, d := range byAddress(sc, k.Data) {
			mod.AddData(d.At, len(d.Bytes))
		}
	}
	for i := range sc.Texts {
		if t := &sc.Texts[i]; !owned[t.Name] {
			m.Memory().Map(t.At, r.Code(t), smp.PermRead|smp.PermExec)
			m.Names().AddSymbol(t.Name, t.At, len(t.Code))
			r.funcs[t.Name] = t.At
			r.Kernel.Symbols.Add(kapi.Function{Name: t.Name, Addr: t.At, Size: len(t.Code)}, t.Extable)
		}
	}
	if r.twin {
		r.fence(owned)
	}
}

// fence puts a breakpoint after each function that isn't followed directly by another one. The
// zeros there would otherwise be executed as instructions.
func (r *Rig) fence(owned map[string]bool) {
	begin := make(map[arch.Addr]bool)
	for i := range r.Scenario.Texts {
		begin[r.Scenario.Texts[i].At] = true
	}
	for i := range r.Scenario.Texts {
		t := &r.Scenario.Texts[i]
		if end := t.At + arch.Addr(len(t.Code)); !owned[t.Name] && !begin[end] && end%smp.PageSize != 0 {
			r.Machine.Memory().Map(end, target.Arch.Breakpoint, smp.PermRead|smp.PermExec)
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

// addClients makes the sites of ftrace and the static calls, and the lock that probes
// and jump labels share.
func (r *Rig) addClients() error {
	sc := r.Scenario
	if len(sc.Probes) > 0 || r.row.Boot != nil {
		r.labels.Lock()
	}
	for i := range sc.Sites {
		s := &sc.Sites[i]
		at := r.funcs[s.Func] + arch.Addr(s.Offset)
		r.Machine.Memory().Watch(at, target.Arch.BranchLen)
		if !r.Ftrace.AddSite(at) {
			return scenario.Faultf(scenario.PartOf(scenario.TheSites, i),
				"%s: fentry(%s): ftrace is out of reach of a 5-byte call; place the function within 2 GB of %#x",
				sc.Name, s.Func, uint64(smp.GateBase))
		}
	}
	if err := r.addAlternatives(); err != nil {
		return err
	}
	if err := r.addRedirected(); err != nil {
		return err
	}
	r.addReserved()
	r.addBreakpoints()
	for i := range sc.Calls {
		c := &sc.Calls[i]
		var sites []staticcall.CallSite
		for _, t := range c.Sites {
			at := r.funcs[t.Func] + arch.Addr(t.Offset)
			r.Machine.Memory().Watch(at, target.Arch.BranchLen)
			sites = append(sites, staticcall.CallSite{At: at, Tail: t.Tail})
		}
		if c.Trampoline != "" {
			r.Machine.Memory().Watch(r.funcs[c.Trampoline], target.Arch.BranchLen)
			if err := r.mark(c); err != nil {
				return scenario.Placed(scenario.PartOf(scenario.TheCalls, i), err)
			}
		}
		s := r.calls.Add(r.funcs[c.Trampoline], r.funcs[c.Target], sites...)
		for j := range sc.Texts {
			if t := &sc.Texts[j]; r.calledBy(c.Name, t.Name) && !s.Reaches(t.At) {
				return scenario.Faultf(scenario.PartOf(scenario.TheCalls, i),
					"%s: static call %s: %s is out of reach of a 5-byte call; place it within 2 GB", sc.Name, c.Name,
					t.Name)
			}
		}
	}
	return nil
}

// mark writes, after the trampoline of a static call, the bytes that a kernel's own engine
// looks for there.
func (r *Rig) mark(c *scenario.StaticCall) error {
	t := r.Text(c.Trampoline)
	at := t.At + arch.Addr(target.Arch.BranchLen)
	if r.row.Boot == nil || len(t.Code) > target.Arch.BranchLen {
		return nil
	}
	end := at + arch.Addr(len(linux.TrampolineMark))
	for i := range r.Scenario.Texts {
		if o := &r.Scenario.Texts[i]; o != t && o.At < end && o.At+arch.Addr(len(o.Code)) > at {
			return fmt.Errorf("%s: static call %s: a kernel wants % x after its trampoline, and %s is there; "+
				"place it elsewhere", r.Scenario.Name, c.Name, linux.TrampolineMark, o.Name)
		}
	}
	r.Machine.Memory().Map(at, linux.TrampolineMark, smp.PermRead|smp.PermExec)
	return nil
}

// moduleWith returns the name of the module that holds a function, "" if it is the kernel's.
func (r *Rig) moduleWith(name string) string {
	for i := range r.Scenario.Modules {
		if m := &r.Scenario.Modules[i]; slices.Contains(m.Core, name) || slices.Contains(m.Init, name) {
			return m.Name
		}
	}
	return ""
}

// addReserved tells the kernel which text its tables list as never rewritten, and where
// undefined thunks are.
func (r *Rig) addReserved() {
	kinds := [...]kapi.SiteKind{scenario.ReservedBug: kapi.SiteBug, scenario.ReservedLabel: jumplabel.Site,
		scenario.ReservedStaticCall: staticcall.Site}
	for _, s := range r.Scenario.Reserved {
		at := r.funcs[s.Func]
		if s.By == scenario.ReservedBlacklist {
			r.Kernel.Symbols.Ban(kapi.Function{Name: s.Func, Addr: at, Size: len(r.Text(s.Func).Code),
				Module: r.moduleWith(s.Func)}, kapi.BanSection)
			continue
		}
		r.Kernel.Symbols.AddSite(kapi.Site{Addr: at + arch.Addr(s.Offset), Size: s.Size, Kind: kinds[s.By]})
	}
	for _, x := range r.Scenario.Missing {
		if r.Scenario.Machine.Kernel.Retpoline && vet.Thunk(&x) {
			r.Kernel.Symbols.Add(kapi.Function{Name: x.Name, Addr: x.At, Size: x.Size}, nil)
		}
	}
}

// calledBy reports whether a static call is ever set to a function.
func (r *Rig) calledBy(call, name string) bool {
	for i := range r.Scenario.Tasks {
		for _, op := range r.Scenario.Tasks[i].Ops {
			if op.Kind == act.SetCall && op.Target == call && slices.Contains(op.Targets, name) {
				return true
			}
		}
	}
	return false
}

// headPatchers tells the monitors which instructions the other patchers may write, and where.
func (r *Rig) headPatchers() {
	image := func(at arch.Addr, insn arch.Code) { r.image(at, insn.Bytes()) }
	for i, m := range r.modules {
		if r.Scenario.Modules[i].Loaded {
			for _, s := range append([]kapi.Section{m.Core}, m.Data()...) {
				r.Log.Emit(smpev.Alloc, 255, traces.NoTask, uint64(s.At), uint64(s.Size), smpev.ModuleMem)
			}
		}
	}
	for i := range r.Ftrace.Sites() {
		at, nop, call := r.Ftrace.Images(i)
		image(at, nop)
		image(at, call)
	}
	r.directImages(image)
	r.alternativeImages()
	for i, s := range r.calls.All() {
		s.Images(0, image)
		for j := range r.Scenario.Texts {
			if t := &r.Scenario.Texts[j]; r.calledBy(r.Scenario.Calls[i].Name, t.Name) ||
				r.Scenario.Calls[i].Target == t.Name {
				s.Images(t.At, image)
			}
		}
	}
}

// newTracer makes the client of all sites for a run.
func (r *Rig) newTracer() {
	if p := r.itself(); p != nil {
		r.Ftrace.Writer = p.Sites()
	}
	if f := r.Ftrace.Tracer(); f != nil {
		r.Tracer = f.NewOps("tracer", func(x kapi.Context, _ arch.Addr, _ *arch.Regs) { x.Step("tracer", 0) },
			ftrace.Dynamic)
		r.Live = f.NewOps("livepatch", func(x kapi.Context, _ arch.Addr, _ *arch.Regs) { x.Step("livepatch", 0) },
			ftrace.Dynamic|ftrace.Modifies)
	}
	r.Patches.Begin()
	r.Ftrace.BeginDirects()
	r.Uprobes.Begin()
	r.Debugger.Begin()
	r.fprobes.Begin()
}

// Answer records the answer of an operation that isn't about probes.
func (p *program) Answer(x *smp.Ctx, i, errno int) {
	p.came, p.errno = sim.Mix(p.came^uint64(errno)), uint64(errno)
	if p.ops[i].Checked && !p.r.twin { // without probes nothing is in the way
		p.got(x, i, 0, smpev.CheckErrno, uint64(errno), 0)
	}
}

// itself returns the engine if it also patches for the other clients, as text_poke_bp does,
// and nil if it doesn't.
func (r *Rig) itself() engine.Patcher {
	p, ok := r.engine.(engine.Patcher)
	if !ok || r.twin || r.plain != nil {
		return nil
	}
	return p
}

// SetLabel switches a jump label on or off.
func (p *program) SetLabel(x *smp.Ctx, name string, on bool) {
	r := p.r
	for i, l := range r.labels.All() {
		if r.Scenario.Labels[i].Name != name {
			continue
		}
		if e := r.itself(); e == nil || !e.SetLabel(x, i, on) {
			l.Set(x, on, r.patch)
		}
	}
}

// SetCall changes the function that a static call calls.
func (p *program) SetCall(x *smp.Ctx, name string, to arch.Addr) {
	r := p.r
	for i, s := range r.calls.All() {
		if r.Scenario.Calls[i].Name != name {
			continue
		}
		if e := r.itself(); e == nil || !e.SetCall(x, i, to) {
			s.Update(x, to, r.plain)
		}
	}
}

// addRedirected records which sites of ftrace lead tasks elsewhere: which functions are live
// patched, and which sites call a client directly.
func (r *Rig) addRedirected() error {
	sc := r.Scenario
	for i := range sc.Texts {
		t := &sc.Texts[i]
		site := r.siteOf(t.Name)
		if sc.Redirected(t.Name, scenario.Live) {
			r.Patches.AddFunc(span(t), site)
		}
		if sc.Redirected(t.Name, scenario.Direct) {
			r.Ftrace.BootDirect(site, sc.Machine.Edition == rules.Edition514)
		}
	}
	for i := range sc.Tasks {
		for k := range sc.Tasks[i].Ops {
			if op := &sc.Tasks[i].Ops[k]; op.Kind == act.PatchFunc {
				r.Patches.Add(r.patchOf(op)...)
			}
		}
	}
	r.Fprobe = make(map[string]*fprobe.Fprobe)
	for i := range sc.Fprobes {
		fp := &sc.Fprobes[i]
		var sites []arch.Addr
		for _, f := range fp.Funcs {
			sites = append(sites, r.siteOf(f))
		}
		r.Fprobe[fp.Name] = r.fprobes.Add(sites, r.funcs[fp.Entry], r.funcs[fp.Exit])
	}
	return r.directsReach()
}

// directs calls f with each site that at some time calls a function directly, and with that
// function.
func (r *Rig) directs(f func(site arch.Addr, t *scenario.Text)) {
	for _, s := range r.Scenario.Sites {
		for i := range r.Scenario.Tasks {
			for _, op := range r.Scenario.Tasks[i].Ops {
				if (op.Kind == act.RegisterDirect || op.Kind == act.ModifyDirect) && op.Target == s.Func {
					f(r.funcs[s.Func]+arch.Addr(s.Offset), r.Text(op.Targets[0]))
				}
			}
		}
	}
}

// directsReach checks that each of these functions is in reach of its site.
func (r *Rig) directsReach() (err error) {
	r.directs(func(site arch.Addr, t *scenario.Text) {
		if _, ok := r.Kernel.Text.Arch().Call(site, t.At); !ok {
			err = r.textFault(t,
				fmt.Errorf("%s: register_direct(): %s is out of reach of a 5-byte call; place it within 2 GB",
					r.Scenario.Name, t.Name))
		}
	})
	return err
}

// directImages calls image with the direct calls that may stand at sites.
func (r *Rig) directImages(image func(at arch.Addr, insn arch.Code)) {
	r.directs(func(site arch.Addr, t *scenario.Text) {
		call, _ := r.Kernel.Text.Arch().Call(site, t.At) // directsReach has checked it
		image(site, call)
	})
}

// addBreakpoints records where tasks set breakpoints of the debugger.
func (r *Rig) addBreakpoints() {
	for i := range r.Scenario.Tasks {
		for k := range r.Scenario.Tasks[i].Ops {
			if op := &r.Scenario.Tasks[i].Ops[k]; op.Kind.Has(scenario.ParamInsn) {
				r.site(op.Target, op.Offset)
				r.Debugger.Add(r.breakpoint(op))
				r.brk = r.Debugger.HasHitBreak
			}
		}
	}
}

// breakpoint returns where an operation of the debugger sets or clears a breakpoint.
func (r *Rig) breakpoint(op *scenario.Op) arch.Addr {
	return r.funcs[op.Target] + arch.Addr(op.Offset)
}
