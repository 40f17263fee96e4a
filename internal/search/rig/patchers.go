package rig

import (
	"cmp"
	"fmt"
	"slices"

	"kpsim/engine"
	"kpsim/engine/bpf"
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
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/byhand"
	"kpsim/smp/fetch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// patchers holds the other code that patches text, or removes it.
type patchers struct {
	*Plan
	act.Clients
	labels      *jumplabel.Labels
	calls       *staticcall.Calls
	fprobes     *fprobe.Probes
	bpf         *bpf.Bpf
	pokes       *pokes
	hasHitBreak func(x kapi.Context, at arch.Addr) bool // nil: no task sets a breakpoint
	breaks      []arch.Addr                             // where tasks set breakpoints of the debugger
	targets     [][]arch.Addr                           // by static call: what it may call; 0, none, is the first
	tailed      map[string][]arch.Addr                  // by function with a tail call: what it may lead to
	byHand      []kapi.Section                          // text that tasks store to
	encoded     map[*scenario.Op][]byte                 // what a write stores, unless it is saved bytes
	settings    []traces.Event                          // what monitors know of keys: Setting and Form
}

// newPatchers makes them. They have no label, no call and no site yet.
func newPatchers(p *Plan) patchers {
	k, cells, c := p.Kernel, &p.Machine.Cells, &p.Scenario.Machine
	ps := patchers{Plan: p}
	ps.Observed = &act.Observed{Arch: p.arch}
	var sync kapi.Sync // of CPUs that may hold what was where an image is written
	if c.Fetch != fetch.Coherent {
		sync = &k.Sync
	}
	tracer := func() ftrace.Tracer { return ps.Observed.Of(ps.Ftrace.Tracer()) }
	ps.labels = jumplabel.New(k, &k.Text, &k.Traps, &k.Hotplug)
	ps.labels.Batches = c.Patch == era.PatchWhole ||
		(c.Edition >= rules.Edition514 || c.Edition == rules.EditionNone) && c.Patch == era.PatchBreakpoint
	ps.calls = staticcall.New(staticcall.Deps{Boot: k, Cells: cells, Text: &k.Text, CPUs: &k.Hotplug, Patch: &k.Poke,
		Traps: &k.Traps})
	form, _ := p.siteForm()
	ps.Ftrace = ftrace.New(ftrace.Deps{Boot: k, Cells: cells, Text: &k.Text, Form: form, Patch: ps.sitePatch(form),
		RCU: &k.RCU, Traps: &k.Traps, ModuleMutex: k.Modules.Mutex, Trampolines: trampolines(p.Scenario), Exec: &k.Exec,
		Sync: sync, Caller: p.caller})
	ps.Patches = livepatch.New(livepatch.Deps{Boot: k, Cells: cells, Text: &k.Text, Ftrace: tracer,
		RCU: &k.RCU, Tasks: &k.Tasks, Switches: &k.Switches,
		Resched: c.Edition >= rules.Edition65 || c.Edition == rules.EditionNone})
	ps.Debugger = debugger.New(debugger.Deps{Boot: k, Cells: cells, Text: &k.Text, Sync: &k.Sync, Traps: &k.Traps})
	ps.Uprobes = uprobe.New(uprobe.Deps{Boot: k, Cells: cells, Arch: p.arch, Traps: &k.Traps,
		Text: &k.Text, Sync: &k.Sync})
	ps.Hand = byhand.New(k)
	pokes := &pokes{own: &k.Poke}
	ps.pokes = pokes
	ps.bpf = bpf.New(bpf.Deps{Sync: sync, Boot: k, Cells: cells, Text: &k.Text, Exec: &k.Exec, Patch: pokes,
		RCU: &k.RCU, Traps: &k.Traps, Ftrace: ps.Ftrace, CPUs: c.CPUs,
		Work: func(name string, f func(x kapi.Context)) kapi.DelayedWork { return k.Work.BootWork(name, f) }})
	ps.fprobes = fprobe.New(fprobe.Deps{Boot: k, Cells: cells, Text: &k.Text, Ftrace: tracer, Traps: &k.Traps,
		Tasks: &k.Tasks, CPUs: c.CPUs, Hooks: func(x kapi.Context, n int, what uint64, at arch.Addr) {
			x.(*smp.Ctx).Tell(smpev.Hooks, smpev.SubjectFprobe+uint64(n), what, uint64(at))
		}})
	return ps
}

// pokes writes what BPF changes of text: the engine does if it can.
type pokes struct {
	own kapi.Batcher
	e   engine.Patcher // nil: there is none
}

// Batch implements kapi.Batcher.
func (p *pokes) Batch(x kapi.Context, list []kapi.Rewrite) {
	for i := range list {
		if p.e == nil || !p.e.Poke(x, list[i].At, list[i].Insn) {
			p.own.Batch(x, list[i:i+1])
		}
	}
}

// add adds what the scenario defines of each, and jump_label_mutex where something needs it.
func (ps *patchers) add() error {
	if err := ps.addLabels(); err != nil {
		return err
	}
	// Where a key's sites are written one by one, text_mutex doesn't keep two setters of it apart.
	several := slices.ContainsFunc(ps.Scenario.Labels, func(l scenario.Label) bool { return len(l.Sites) > 1 })
	if len(ps.Scenario.Probes) > 0 || ps.row.Boot != nil || several && !ps.labels.Batches {
		ps.labels.Lock()
	}
	steps := [...]func() error{ps.addByHand, ps.addSites, ps.addAlternatives, ps.addRedirected, ps.addCalls}
	for _, add := range steps {
		if err := add(); err != nil {
			return err
		}
	}
	ps.addForeign()
	ps.addReserved()
	ps.addBreakpoints()
	ps.addNop()
	ps.addSettings()
	return nil
}

// sitePatch returns what writes the sites of ftrace.
func (ps *patchers) sitePatch(form *arch.SiteForm) kapi.Batcher {
	switch {
	case ps.arch.BreakpointFirst:
		return &ps.Kernel.Poke
	case form != nil && form.Stopped:
		return kernel.PokeStopped{K: ps.Kernel}
	default:
		return kernel.PokeWhole{K: ps.Kernel, Sites: true, Local: form != nil && form.Local}
	}
}

// addSites adds the sites of ftrace. What the compiler has left there boot writes over (ftrace_init_nop).
func (ps *patchers) addSites() error {
	form, _ := ps.siteForm()
	for i := range ps.Scenario.Sites {
		s := &ps.Scenario.Sites[i]
		at := ps.funcs[s.Func] + arch.Addr(s.Offset)
		ps.Machine.Memory().Watch(form.At(at), ps.arch.BranchLen)
		nop, ok := ps.Ftrace.AddSite(form.At(at))
		if !ok {
			return scenario.Faultf(scenario.PartOf(scenario.TheSites, i),
				"%s: fentry(%s): ftrace is out of reach of a %d-byte call; place the function within %s of %#x",
				ps.Scenario.Name, s.Func, ps.arch.BranchLen, ps.arch.Reach, uint64(smp.GateBase))
		}
		if !ps.arch.BreakpointFirst {
			ps.Machine.Memory().Map(form.At(at), nop.Bytes(), smp.PermRead|smp.PermExec)
			if ps.nops == nil {
				ps.nops = make(map[string]arch.Code)
			}
			ps.nops[s.Func] = nop
		}
	}
	for _, t := range ps.Ftrace.Text() {
		ps.Machine.Memory().Map(t.At, t.Code, smp.PermRead|smp.PermExec)
		ps.Machine.Names().AddSymbol(t.Name, t.At, len(t.Code))
	}
	return nil
}

// addCalls adds the static calls.
func (ps *patchers) addCalls() error {
	sc := ps.Scenario
	for i := range sc.Calls {
		c := &sc.Calls[i]
		var sites []staticcall.CallSite
		for _, t := range c.Sites {
			at := ps.funcs[t.Func] + arch.Addr(t.Offset)
			ps.Machine.Memory().Watch(at, ps.arch.BranchLen)
			sites = append(sites, staticcall.CallSite{At: at, Tail: t.Tail})
		}
		if c.Trampoline != "" {
			ps.Machine.Memory().Watch(ps.funcs[c.Trampoline], ps.arch.BranchLen)
			if err := ps.mark(c); err != nil {
				return scenario.Placed(scenario.PartOf(scenario.TheCalls, i), err)
			}
		}
		s := ps.calls.Add(ps.funcs[c.Trampoline], ps.funcs[c.Target], sites...)
		targets := []arch.Addr{0}
		for j := range sc.Texts {
			t := &sc.Texts[j]
			if t.Name != c.Target && !ps.calledBy(c.Name, t.Name) {
				continue
			}
			if targets = append(targets, t.At); !s.Reaches(t.At) {
				return scenario.Faultf(scenario.PartOf(scenario.TheCalls, i),
					"%s: static call %s: %s is out of reach of a 5-byte call; place it within 2 GB", sc.Name, c.Name,
					t.Name)
			}
		}
		ps.targets = append(ps.targets, targets)
	}
	return nil
}

// mark writes, after the trampoline of a static call, the bytes that a kernel's own engine
// looks for there.
func (ps *patchers) mark(c *scenario.StaticCall) error {
	t := ps.Text(c.Trampoline)
	at := t.At + arch.Addr(ps.arch.BranchLen)
	if ps.row.Boot == nil || len(t.Code) > ps.arch.BranchLen {
		return nil
	}
	end := at + arch.Addr(len(ps.row.Mark))
	for i := range ps.Scenario.Texts {
		if o := &ps.Scenario.Texts[i]; o != t && o.At < end && o.At+arch.Addr(len(o.Code)) > at {
			return fmt.Errorf("%s: static call %s: a kernel wants % x after its trampoline, and %s is there; "+
				"place it elsewhere", ps.Scenario.Name, c.Name, ps.row.Mark, o.Name)
		}
	}
	ps.Machine.Memory().Map(at, ps.row.Mark, smp.PermRead|smp.PermExec)
	return nil
}

// addReserved tells the kernel which text its tables list as never rewritten, and where
// undefined thunks are.
func (ps *patchers) addReserved() {
	kinds := [...]kapi.SiteKind{scenario.ReservedBug: kapi.SiteBug, scenario.ReservedLabel: jumplabel.Site,
		scenario.ReservedStaticCall: staticcall.Site}
	for _, s := range ps.Scenario.Reserved {
		at := ps.funcs[s.Func]
		if s.By == scenario.ReservedBlacklist {
			ps.Kernel.Symbols.Ban(kapi.Function{Name: s.Func, Addr: at, Size: len(ps.Text(s.Func).Code),
				Module: ps.moduleOf(s.Func)}, kapi.BanSection)
			continue
		}
		ps.Kernel.Symbols.AddSite(kapi.Site{Addr: at + arch.Addr(s.Offset), Size: s.Size, Kind: kinds[s.By]})
	}
	for _, x := range ps.Scenario.Missing {
		if ps.Scenario.Machine.Kernel.Retpoline && vet.Thunk(&x) {
			ps.Kernel.Symbols.Add(kapi.Function{Name: x.Name, Addr: x.At, Size: x.Size}, nil)
		}
	}
}

// calledBy reports whether a static call is ever set to a function.
func (p *Plan) calledBy(call, name string) bool {
	for i := range p.Scenario.Tasks {
		for _, op := range p.Scenario.Tasks[i].Ops {
			if op.Kind == act.SetCall && op.Target == call && slices.Contains(op.Targets, name) {
				return true
			}
		}
	}
	return false
}

// head reports which instructions the patchers may write, and where; and what their keys may be set to.
func (ps *patchers) head() {
	image := func(at arch.Addr, insn arch.Code) { ps.image(at, insn.Bytes()) }
	for _, l := range ps.labels.All() {
		for i := range l.Entries() {
			e := &l.Entries()[i]
			off, _ := e.Form(false)
			on, _ := e.Form(true)
			image(e.At, *off)
			image(e.At, *on)
		}
	}
	for i, m := range ps.modules {
		if ps.Scenario.Modules[i].Loaded {
			for _, s := range append([]kapi.Section{m.Core}, m.Data()...) {
				ps.Log.Emit(smpev.Alloc, 255, traces.NoTask, uint64(s.At), uint64(s.Size), smpev.ModuleMem)
			}
		}
	}
	for i := range ps.Ftrace.Sites() {
		ps.Ftrace.Images(i, image)
	}
	ps.Ftrace.CallImages(image)
	ps.directImages(image)
	ps.bpf.Images(image)
	ps.tailImages(image)
	ps.Uprobes.Images(ps.image)
	ps.reportSites()
	ps.alternativeImages()
	for i, s := range ps.calls.All() {
		for _, to := range ps.targets[i] {
			s.Images(to, image)
		}
	}
	for i := range ps.settings {
		e := &ps.settings[i]
		ps.claim(e.Kind, e.A, e.B, e.C)
	}
	ps.headByHand() // last: its stores end the head
}

// begin makes the clients of a run. With an engine e that patches for them, ftrace writes
// through it. has is the engine if it has fprobes.
func (ps *patchers) begin(e engine.Patcher, has fprobe.Owner) {
	if e != nil {
		ps.Ftrace.Writer, ps.Ftrace.Core = e.Sites(), e.Clients()
		ps.pokes.e = e
	}
	ps.fprobes.Owner = has
	if f := ps.Observed.Of(ps.Ftrace.Tracer()); f != nil {
		ps.Tracer = f.NewOps("tracer", func(x kapi.Context, _ arch.Addr, _ *arch.Regs) { x.Step("tracer", 0) },
			ftrace.Dynamic|ftrace.Plain)
		ps.Live = f.NewOps("livepatch", func(x kapi.Context, _ arch.Addr, _ *arch.Regs) { x.Step("livepatch", 0) },
			ftrace.Dynamic|ftrace.Modifies|ftrace.Plain)
	}
	ps.Patches.Begin()
	ps.Ftrace.BeginDirects()
	ps.Uprobes.Begin()
	ps.Hand.Begin()
	ps.Debugger.Begin()
	ps.fprobes.Begin()
	ps.bpf.Begin()
}

// heads reports whether head reports events of a kind, of those that a property needs.
func (ps *patchers) heads(k traces.Kind) bool {
	switch k {
	case smpev.Setting:
		return len(ps.settings) > 0
	case kpev.Reading: // it isn't at the head, but nothing else asks for the property
		return ps.Scenario.Touches()&scenario.TouchRead != 0
	case smpev.ByHand:
		return len(ps.byHand) > 0
	case smpev.Bpf:
		return len(ps.Scenario.Bpfs) > 0
	case smpev.Leads:
		return ps.Ftrace.Sites() > 0 || len(ps.Scenario.Fprobes) > 0
	}
	sim.Bug("no property needs %v", k)
	return false
}

// reportSites tells the monitors about the sites of ftrace, its clients, and where these lead.
func (ps *patchers) reportSites() {
	for i := range ps.Ftrace.Sites() {
		ps.claim(smpev.Leads, 0, uint64(ps.Ftrace.Record(i).At), 0)
	}
	ps.Observed.Made(func(subject, flags uint64) { ps.claim(smpev.Leads, subject, 0, flags) })
	for i := range ps.Scenario.Fprobes {
		fp := &ps.Scenario.Fprobes[i]
		hooks := uint64(0)
		if fp.Exit != "" {
			hooks = uint64(cmp.Or(fp.Maxactive, fprobe.Nodes)) | smpev.HooksSkip*b2u(fp.Skips)
		}
		if ps.fprobes.Owner != nil {
			hooks |= smpev.HooksNested
		}
		for _, f := range fp.Funcs {
			ps.claim(smpev.Leads, smpev.SubjectFprobe+uint64(i), uint64(ps.siteOf(f)), hooks)
		}
	}
	for i := range ps.Scenario.Bpfs {
		ps.claim(smpev.Bpf, uint64(ps.siteOf(ps.Scenario.Bpfs[i].Func)), smpev.BpfSite, 0)
	}
	ps.leads(func(subject uint64, _ string, site, to arch.Addr) {
		ps.claim(smpev.Leads, subject, uint64(site), uint64(to))
	})
	if ps.claims() {
		ps.directs(func(site arch.Addr, _ *scenario.Text) {
			ps.claim(smpev.Leads, smpev.SubjectDirect, uint64(site), 0)
		})
		for i := range ps.Scenario.Bpfs {
			ps.claim(smpev.Leads, smpev.SubjectDirect, uint64(ps.siteOf(ps.Scenario.Bpfs[i].Func)), 0)
		}
	}
}

// addBreakpoints records where tasks set breakpoints of the debugger.
func (ps *patchers) addBreakpoints() {
	for i := range ps.Scenario.Tasks {
		for k := range ps.Scenario.Tasks[i].Ops {
			if op := &ps.Scenario.Tasks[i].Ops[k]; op.Kind.Has(scenario.ParamInsn) {
				ps.watch(op.Target, op.Offset)
				ps.Debugger.Add(ps.breakpoint(op))
				if at := ps.breakpoint(op); !slices.Contains(ps.breaks, at) {
					ps.breaks = append(ps.breaks, at)
				}
				ps.hasHitBreak = ps.Debugger.HasHitBreak
			}
		}
	}
}

// addAlternatives adds the lock prefixes that are patched in and out, and the alternatives.
func (ps *patchers) addAlternatives() error {
	for i, s := range ps.Scenario.Locked {
		at := ps.funcs[s.Func] + arch.Addr(s.Offset)
		in, err := ps.arch.Decode(ps.Text(s.Func).Code[s.Offset:], at)
		if err != nil {
			err = fmt.Errorf("%s: lock_prefix(): %s+%#x: %w", ps.Scenario.Name, s.Func, s.Offset, err)
			return scenario.Placed(scenario.PartOf(scenario.TheLocked, i), err)
		}
		ps.Machine.Memory().Watch(at, in.Size())
		ps.Kernel.Prefix.Add(at)
	}
	for i := range ps.Scenario.Alternatives {
		a := &ps.Scenario.Alternatives[i]
		at := ps.funcs[a.Func] + arch.Addr(a.Offset)
		ps.Machine.Memory().Watch(at, len(a.Code))
		ps.Kernel.Alternatives.Add(at, a.Code)
	}
	return nil
}

// alternativeImages tells the monitors about both forms of each lock prefix and alternative.
func (ps *patchers) alternativeImages() {
	for _, s := range ps.Scenario.Locked {
		code := ps.Text(s.Func).Code[s.Offset:]
		in, _ := ps.arch.Decode(code, 0) // it has been decoded before
		ps.Kernel.Prefix.Images(func(at arch.Addr, first [2]byte) {
			if at != ps.funcs[s.Func]+arch.Addr(s.Offset) {
				return
			}
			for _, b := range first {
				ps.image(at, append([]byte{b}, code[1:in.Size()]...))
			}
		})
	}
	for i := range ps.Scenario.Alternatives {
		a := &ps.Scenario.Alternatives[i]
		at := ps.funcs[a.Func] + arch.Addr(a.Offset)
		ps.image(at, ps.Text(a.Func).Code[a.Offset:][:len(a.Code)])
		ps.image(at, a.Code)
	}
}

// bootWorks makes the work items that tasks queue, in the order in which tasks name them. Each
// calls a function.
func (ps *patchers) bootWorks() {
	for i := range ps.Scenario.Tasks {
		for _, op := range ps.Scenario.Tasks[i].Ops {
			name := op.Target
			if op.Kind.Traits&scenario.Works == 0 || ps.Work[name] != nil {
				continue
			}
			if ps.Work == nil {
				ps.Work = make(map[string]*kernel.DelayedWork)
			}
			f := ps.funcs[name]
			ps.Work[name] = ps.Kernel.Work.BootWork("work "+name, func(x kapi.Context) {
				ps.anyRegs(x.Regs(), f)
				x.Call(f)
			})
		}
	}
}
