package rig

import (
	"bytes"
	"cmp"
	"fmt"

	"kpsim/engine"
	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/era"
	"kpsim/kprobes/mutants"
	"kpsim/kprobes/rules"
	"kpsim/linux"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A Rig is one scenario built as a machine with a kernel, an engine and all monitors. It can
// be run many times. One goroutine uses it.
type Rig struct {
	Scenario *scenario.Scenario
	Machine  *smp.Machine
	Kernel   *kernel.Kernel
	Log      traces.Log

	arch     *arch.Arch // the machine's architecture
	anyOf    []uint64   // the values that anyRegs assigns
	mutant   *mutants.Mutant
	twin     bool // probe operations are left out
	ownData  bool // one task alone runs the functions
	row      *engine.Row
	engine   engine.Engine
	given    any                                 // the settings that the engine gets
	config   engine.Config                       // what the engine is made from
	onClaim  func(k traces.Kind, a, b, c uint64) // claim, as a value
	added    int                                 // the number of probes that an interactive run has added
	saw      func(h engine.Hit)                  // called at each handler's call; nil: none
	patch    kapi.Patcher
	plain    kapi.Patcher         // the same as patch, nil if patch is text_poke_bp
	monitors *properties.Monitors // nil in a twin
	placed   []arch.Addr          // the addresses of the probes, as far as they are known
	own      arch.Addr            // the kernel's own probe, 0 if it has none
	telling  bool                 // some probes aren't plain kprobes
	patchers
	funcs    map[string]arch.Addr
	programs []*program
	behind   bool          // a task is in the background, and this rig is no twin
	front    kapi.Var[int] // with behind: how many of the other tasks haven't ended
	loads    []insn
	linked   traces.Mark // the position after loads in a log, if they were reported
	told     bool
	linear   *Linear // nil: calls about the same object can't overlap
	wants    []want
	expects  []callEnd
	ends     []callEnd // results of a twin's calls
	wrong    error     // the first check that a twin's run has failed
	unmet    *program  // the task whose operation unmetOp differed from what the author expects
	unmetOp  int
	census   census
	arrivals arrivals
	features features
	relate   *relate // nil: no run was ever observed
	setup
	last    Run
	answers []scenario.Answer // by probe
	ips     []scenario.HandlerIP
	goOn    goOn
	ofTrace bool // the rig's runs are runs of a trace
}

// insn is an instruction of original text, as in the head of a log.
type insn struct{ addr, lo, hi uint64 }

// callEnd is the result of a call: a digest, 0 if it isn't compared.
type callEnd struct{ task, call, digest uint64 }

// A Run is the result of one run.
type Run struct {
	Outcome  smp.Outcome
	Property *properties.Property // the broken property, nil if there is none
	Finding  traces.Finding
	Err      error // why the machine refused
	Digest   uint64
	Counts   smp.Counts
	During   bool // a jump was written in a function during a task's call of that function

	// Broken lists the violations in order, if the run continues after a violation. Property is
	// the first of them that isn't ignored. It is valid until the rig's next run.
	Broken []properties.Broken

	Early bool // the run was stopped before its end, by a finding or because its budget was used up
}

// New builds a rig. The scenario must have been checked (lang.Check). mutantName "" means the
// correct engine. Errors are about the scenario: an unknown mutant, text that doesn't decode,
// a label out of reach.
func New(sc *scenario.Scenario, mutantName string) (*Rig, error) {
	twin, err := build(sc, "", true)
	if err != nil {
		return nil, err
	}
	defer twin.Close()
	if run := twin.Run(new(sched.Default)); run.Outcome != smp.Passed {
		if run.Err != nil {
			return nil, fmt.Errorf("%s: run without probes: %w", sc.Name, run.Err)
		}
		return nil, fmt.Errorf("%s: run without probes: %w", sc.Name,
			scenario.Placed(twin.stands(), twin.noEndAlone(run)))
	}
	if twin.wrong != nil {
		return nil, fmt.Errorf("%s: run without probes: %w", sc.Name, twin.wrong)
	}
	r, err := build(sc, mutantName, false)
	if err != nil {
		return nil, err
	}
	r.expects = append(r.expects, twin.ends...)
	for i := range r.expects {
		for _, p := range r.programs {
			if e := &r.expects[i]; p.behind && e.task == uint64(p.task.ID) {
				e.call |= smpev.MayMiss
			}
		}
	}
	return r, nil
}

// build builds a rig. prepare may add to it before it is frozen.
func build(sc *scenario.Scenario, mutantName string, twin bool, prepare ...func(r *Rig) error) (*Rig, error) {
	r := &Rig{Scenario: sc, twin: twin, ownData: onlyCaller(sc), arch: sc.Machine.Processor(),
		anyOf: anyValues(sc.Machine.Processor()), funcs: make(map[string]arch.Addr)}
	r.row, r.onClaim = sc.Machine.Row(), r.claim
	r.config = engine.Config{Handle: r.hit, Audit: !twin}
	if mutantName != "" && r.row.Boot == nil {
		mu, ok := mutants.ByName(mutantName)
		if !ok {
			return nil, fmt.Errorf("no mutant is called %q; %s", mutantName,
				cmp.Or(nearest.DidYouMean(mutantName, mutants.Known()), "kpsim list prints those that there are"))
		}
		if sc.Machine.Engine != "" {
			return nil, fmt.Errorf("%s: mutants are of kprobes; engine %s has none", sc.Name, sc.Machine.Engine)
		}
		r.mutant = mu
		if mutantName == mutants.AsShipped {
			if sc.Machine.Edition == rules.EditionNone {
				return nil, fmt.Errorf("%s: %s: the scenario is of no edition; say machine(edition = "+
					"\"4.15\"), or another", sc.Name, mutantName)
			}
			if err := mutants.CheckShipped(sc.Machine.Edition); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", sc.Name, mutantName, err)
			}
		}
	}
	settings, err := settingsOf(sc, mutantName)
	if err != nil {
		return nil, err
	}
	r.given = settings
	budget := uint64(sc.Machine.Steps)
	if r.row.Boot != nil && budget == 0 {
		budget = guestBudget
	}
	m, err := smp.New(smp.Config{
		CPUs:    sc.Machine.CPUs,
		Fetch:   sc.Machine.Fetch,
		Memory:  sc.Machine.Memory,
		FRED:    sc.Machine.FRED,
		Late:    sc.Machine.Late,
		NoHZ:    sc.Machine.NoHZ,
		Offline: sc.Machine.Offline,
		Arch:    r.arch,
		Full:    sc.Machine.Preempt >= scenario.PreemptFull,
		Lazy:    sc.Machine.Preempt == scenario.PreemptLazy,
		Budget:  budget,
	}, &r.Log)
	if err != nil {
		return nil, err
	}
	r.Machine, r.arrivals.m = m, m
	r.Kernel = kernel.Boot(m, kernelOf(sc, r.row, settings))
	r.bootClients()
	if err := r.load(); err != nil {
		m.Close()
		return nil, err
	}
	for i := range sc.Tasks {
		p := &program{r: r, number: i, ops: sc.Tasks[i].Ops, repeat: max(sc.Tasks[i].Repeat, 1),
			setup: sc.Tasks[i].Setup, behind: sc.Tasks[i].Background && !twin}
		r.behind = r.behind || p.behind
		p.task = m.Tasks().AddProgram(sc.Tasks[i].Name, sc.Tasks[i].CPU, p.run)
		for _, op := range p.ops {
			p.called = append(p.called, r.called(&op)) // empty for operations that call none
		}
		for k := range p.ops {
			act.Boot(p, p.task.ID, &p.ops[k])
		}
		p.prepareChecks()
		r.programs = append(r.programs, p)
	}
	r.bootWorks()
	r.catchFaults()
	m.Hooks().Blames = r.blames
	if err := r.addSources(); err != nil {
		m.Close()
		return nil, err
	}
	if !twin {
		r.monitors = properties.NewMonitors(properties.All...)
		r.monitors.Subscribe(&r.Log)
		r.Log.Subscribe(&r.census, censusKinds...)
		r.Log.Subscribe(&r.arrivals, arrivalKinds...)
		r.linear = newLinear(r)
		r.ips = sc.HandlerIPs()
		if r.row.Boot == nil {
			r.answers = sc.Answers()
		}
	}
	if r.row.Boot != nil && !twin {
		r.config.Booted = r.row.Boot(settings, &r.Kernel.Guest, sc.Machine.CPUs)
		if k, ok := settings.(*linux.Settings); ok {
			m.Names().Further = r.furtherNames(k.Kernel)
		}
	}
	for _, f := range prepare {
		if err := f(r); err != nil {
			m.Close()
			return nil, err
		}
	}
	m.Freeze()
	r.newEngine()
	r.readHeads()
	if err := r.loadOwn(); err != nil {
		m.Close()
		return nil, err
	}
	if err := r.setUp(); err != nil {
		m.Close()
		return nil, err
	}
	m.Names().Cell = func(id kapi.CellID) string {
		if r.behind && id == r.front.ID() {
			return "how many tasks are left"
		}
		if name := r.Kernel.CellName(id); name != "" {
			return name
		}
		return r.Readable(r.engine.CellName(id))
	}
	m.Names().Monitor = func(i int) string { return properties.All[i].Name }
	return r, nil
}

// guestBudget is the budget of boundaries of a run whose engine is guest code itself.
const guestBudget = 20 * smp.DefaultBudget

// Close ends the rig's fibres. It is not used afterwards.
func (r *Rig) Close() { r.Machine.Close() }

// load puts text and data into memory and names them.
func (r *Rig) load() error {
	sc, m := r.Scenario, r.Machine
	r.mapTexts()
	for i := range sc.Datas {
		d := &sc.Datas[i]
		m.Names().AddSymbol(d.Name, d.At, len(d.Bytes))
		if r.ofModule[d.Name] != nil {
			continue
		}
		if d.Away {
			r.Kernel.Away(d.At, d.Bytes)
			continue
		}
		if !d.PerCPU {
			m.Memory().Map(d.At, d.Bytes, smp.PermRead|smp.PermWrite)
			continue
		}
		for c := range sc.Machine.CPUs {
			at := kernel.PerCPUOffset(r.arch, c) + d.At
			m.Memory().Map(at, d.Bytes, smp.PermRead|smp.PermWrite)
			m.Names().AddSymbol(fmt.Sprintf("%s of cpu%d", d.Name, c), at, len(d.Bytes))
		}
	}
	for i := range sc.Missing {
		s := &sc.Missing[i]
		m.Names().AddSymbol(s.Name, s.At, s.Size)
	}
	for i := range sc.Probes {
		if f, known := sc.Place(&sc.Probes[i]); known {
			r.site(f, sc.Probes[i].Offset+sc.Entry(&sc.Probes[i]))
		}
	}
	for i := range sc.Labels {
		l := &sc.Labels[i]
		r.site(l.Func, l.Offset)
		if _, ok := r.labels.Add(r.funcs[l.Func]+arch.Addr(l.Offset), r.funcs[l.Target]+arch.Addr(l.TOff)); !ok {
			return scenario.Faultf(scenario.PartOf(scenario.TheLabels, i),
				"%s: jump label %s: its target is out of reach of a 5-byte jump", sc.Name, l.Name)
		}
	}
	if err := r.addClients(); err != nil {
		return err
	}
	r.census.probes, r.census.at, r.census.was, r.census.stopped = make([]Probed, len(sc.Probes)),
		make([]arch.Addr, len(sc.Probes)), make([]uint8, len(sc.Probes)), sc.Machine.Patch == era.PatchStopMachine
	for i := range sc.Texts {
		if t := &sc.Texts[i]; m.Memory().Watched(t.At, len(t.Code)) {
			if err := r.loadInsns(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// site watches the whole instructions that a jump at a place would cover.
func (r *Rig) site(name string, off int) {
	t := r.Text(name)
	n := 0
	for n < target.Arch.BranchLen && off+n < len(t.Code) {
		in, err := target.Decode(t.Code[off+n:], t.At+arch.Addr(off+n))
		if err != nil {
			n++
			continue
		}
		n += in.Size()
	}
	r.Machine.Memory().Watch(t.At+arch.Addr(off), n)
}

// Func returns where a function of the scenario begins.
func (r *Rig) Func(name string) (at arch.Addr, ok bool) {
	at, ok = r.funcs[name]
	return at, ok
}

// Text returns a function of the scenario.
func (r *Rig) Text(name string) *scenario.Text {
	for i := range r.Scenario.Texts {
		if r.Scenario.Texts[i].Name == name {
			return &r.Scenario.Texts[i]
		}
	}
	sim.Bug("scenario %s was not checked: no function %s", r.Scenario.Name, name)
	return nil
}

func (r *Rig) loadInsns(t *scenario.Text) error {
	code := r.Code(t)
	for off := 0; off < len(code); {
		in, err := target.Decode(code[off:], t.At+arch.Addr(off))
		if err != nil && len(bytes.Trim(code[off:], "\x00")) == 0 {
			break // half an instruction of the zeros after a section
		}
		if err != nil {
			return r.textFault(t, fmt.Errorf("%s: %s+%#x: % x: %w", r.Scenario.Name, t.Name, off,
				code[off:min(off+15, len(code))], err))
		}
		lo, hi := traces.PackBytes(code[off : off+in.Size()])
		r.loads = append(r.loads, insn{uint64(t.At) + uint64(off), lo, hi})
		off += in.Size()
	}
	return nil
}

func (r *Rig) addSources() error {
	handlers := make(map[*smp.Source]*scenario.Source)
	names := r.Scenario.SourceNames()
	for i := range r.Scenario.Sources {
		s := &r.Scenario.Sources[i]
		src := &smp.Source{Kind: s.Kind.Machine, Name: names[i], AtMost: s.AtMost, Idle: s.Idle}
		if err := r.Machine.Interrupts().Add(src, s.CPU); err != nil {
			return err
		}
		handlers[src] = s
		r.arrivals.add(src.Mover(), names[i])
	}
	handler := func(x *smp.Ctx, src *smp.Source) {
		s := handlers[src]
		if s == nil {
			return
		}
		if s.Opens {
			x.IRQ(true)
			x.Step("timer handler, interrupts on", 1)
		}
		if s.Run != "" {
			regs := x.Regs()
			r.anyRegs(regs) // the interrupted code's registers are not passed on
			r.setArgs(regs, s.Args)
			x.Call(r.funcs[s.Run])
		}
	}
	plain := func(src *smp.Source) bool {
		s := handlers[src]
		return s == nil || s.Run == "" && !s.Opens
	}
	r.Kernel.OnInterrupt(handler, plain)
	return nil
}

// Run runs the scenario once under ch.
func (r *Rig) Run(ch sim.Chooser) Run {
	m := r.Machine
	m.Reset(ch)
	r.Kernel.Reset()
	r.newEngine()
	r.resetMonitors()
	for _, p := range r.programs {
		p.calls, p.came, p.begun, p.ended = 0, 0, 0, 0
	}
	r.unmet = nil
	if r.relate != nil {
		r.relate.begin()
	}
	r.ends, r.wrong = r.ends[:0], nil
	r.census.begin(r.placed)
	r.features.begin()
	r.head()
	r.again()

	run := Run{Outcome: r.runOn(), Err: r.refusal()}
	r.endsInGarbage(&run)
	r.leavesWork(&run)
	run.Early = run.Outcome == smp.Violated || run.Outcome == smp.Exhausted
	if run.Outcome == smp.Passed {
		drained := r.engine.Settled()
		r.Log.Emit(smpev.Done, 255, traces.NoTask, b2u(drained), 0, 0)
		if r.Log.Found == nil && r.monitors != nil {
			r.engine.Claim(r.onClaim)
			r.tellCounts()
			r.Log.Found = r.monitors.End(drained)
		}
	}
	run.Digest, run.Counts = r.Log.Digest(), m.Counts()
	switch {
	case r.Log.Found != nil:
		run.Outcome, run.Finding = smp.Violated, *r.Log.Found
		if why := m.Died(); why != "" && run.Finding.Message != "" {
			run.Finding.Message += ": " + why
		}
		run.Property = r.monitors.Finder()
	case run.Outcome == smp.Stuck || run.Outcome == smp.Exhausted:
		run.Property = &properties.Progress
		run.Finding = traces.Finding{Message: r.noEnd(run)}
	case r.linear != nil && run.Outcome == smp.Passed:
		r.linear.judge(&run)
	}
	r.wentOn(&run)
	run.During = r.census.during
	r.last = run
	return run
}

// tellText tells the monitors which text is linked. It is the same in each run, so a caller
// that only watches gets it in the first run alone.
func (r *Rig) tellText() {
	if observed := r.relate != nil && r.relate.on; r.told && !r.Log.Store && !observed {
		r.Log.Resume(r.linked)
		r.monitors.SameText()
		return
	}
	for _, l := range r.loads {
		r.Log.Emit(smpev.Load, 255, traces.NoTask, l.addr, l.lo, l.hi)
	}
	r.linked, r.told = r.Log.Mark(smpev.Load), r.monitors != nil
}

// head tells the monitors the state that the machine starts from.
func (r *Rig) head() {
	r.tellText()
	for _, l := range r.labels.All() {
		at, nop, jump := l.Images()
		lo, hi := traces.PackBytes(nop.Bytes())
		r.Log.Emit(smpev.Image, 255, traces.NoTask, uint64(at), lo, hi)
		lo, hi = traces.PackBytes(jump.Bytes())
		r.Log.Emit(smpev.Image, 255, traces.NoTask, uint64(at), lo, hi)
	}
	r.headPatchers()
	r.tellProbes()
	for _, w := range r.wants {
		r.Log.Emit(smpev.Want, 255, traces.NoTask, w.check, w.value, 0)
	}
	for _, e := range r.expects {
		r.Log.Emit(smpev.Expect, 255, traces.NoTask, e.task, e.call, e.digest)
	}
}
