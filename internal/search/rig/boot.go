package rig

import (
	"cmp"
	"fmt"
	"slices"

	"kpsim/engine"
	"kpsim/engine/bpf"
	"kpsim/engine/ftrace"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes"
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/plug"
	"kpsim/kprobes/rules"
	"kpsim/properties"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// kernelOf returns how a scenario's kernel is built and booted.
func kernelOf(sc *scenario.Scenario, row *engine.Row, settings any) kernel.Config {
	c := kernel.Config{
		Preemptible: sc.Machine.Preempt.Built(),
		Voluntary:   sc.Machine.Preempt == scenario.PreemptVoluntary || sc.Machine.Preempt == scenario.PreemptDynamic,
		Hotplug:     sc.Does(act.Hotplug) || offline(sc),
		Offline:     offline(sc),
		Goes:        goes(sc.Machine.Edition),
		Stall:       sc.Machine.Stall,
		TellReaders: row.Boot != nil,
		Latch:       sc.Does(act.Spin),
		Signal:      sc.Does(act.WaitSignal) || sc.Does(act.Signal),
		StackCheck:  sc.Machine.Quiesce == kapi.QuiesceStackCheck,
		NoModules:   sc.Machine.Modules == scenario.LoadingNone,
		NoUnload:    sc.Machine.Modules == scenario.LoadingStay,
		NMIsNest:    !sc.Machine.NMILatch,
		PageGrace:   sc.Machine.Edition != rules.Edition26,
	}
	if c.Counting = sc.Machine.Counting; row.Boot != nil {
		c.Counting = kapi.CountsOwn
	}
	if row.Memory != nil {
		c.Exec = row.Memory(settings)
	}
	if len(sc.Bpfs) > 0 {
		c.Exec = append(slices.Clone(c.Exec), bpf.Memory)
	}
	if sc.Does(act.Dispatch) || sc.Does(act.Undispatch) {
		c.Exec = append(slices.Clone(c.Exec), bpf.DispatcherMemory)
	}
	if trampolines(sc) == ftrace.Own {
		c.Exec = append(slices.Clone(c.Exec), ftrace.Memory)
	}
	return c
}

// offline reports whether CPUs go offline in a scenario.
func offline(sc *scenario.Scenario) bool {
	return sc.Machine.Offline != 0 || sc.Does(act.Offline) || sc.Does(act.Online)
}

// goes returns how CPUs go offline in an edition.
func goes(e rules.Edition) kernel.Going {
	switch e {
	case rules.Edition26:
		return kernel.GoesSched
	case rules.Edition415:
		return kernel.GoesMigrated
	}
	return kernel.GoesPushed
}

// settingsOf returns the settings of a scenario's engine (engine.Config); those of machine()
// concern kprobes. A kernel's own engine has been booted before.
func settingsOf(sc *scenario.Scenario, mutant string) (any, error) {
	m := &sc.Machine
	row := m.Row()
	if row.Guest != nil {
		g, err := row.Guest(engine.Order{Image: m.Image, Arch: uint8(m.Arch), CPUs: m.CPUs, Mutant: mutant,
			Clients: sc.OwnClients()})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sc.Name, err)
		}
		return g, nil
	}
	if row == &plug.Row {
		return &plug.Settings{Settings: kprobes.Settings{Settings: m.Kprobes()},
			Memory: kprobes.Memory(m.InsnSlot(), m.DetourSlot())}, nil
	}
	return nil, nil
}

// trampolines returns which of ftrace's trampolines are text of kpsim's.
func trampolines(sc *scenario.Scenario) ftrace.Trampolines {
	if sc.OwnClients() {
		return ftrace.NoText
	}
	return sc.Machine.Trampolines
}

// furtherNames returns a function that names what only an engine that is guest code has: the members of users' structs
// ("k->flags"), and its symbols.
func (r *Rig) furtherNames(g engine.Guest) func(a arch.Addr) (name string, off int, ok bool) {
	booted := r.wiring.config.Booted
	return func(a arch.Addr) (string, int, bool) {
		if i, member, ok := g.User(booted, a); ok && i < len(r.Scenario.Probes) {
			name := r.Scenario.Probes[i].Name
			if member != "" {
				name += "->" + member
			}
			return name, 0, true
		}
		return g.Symbol(a)
	}
}

// build builds a rig. prepare may add to it before it is frozen.
func build(sc *scenario.Scenario, mutantName string, twin bool, prepare ...func(r *Rig) error) (*Rig, error) {
	r := &Rig{Plan: newPlan(sc, twin)}
	if err := r.wiring.choose(r.Plan, mutantName); err != nil {
		return nil, err
	}
	if err := r.boot(r.wiring.settings); err != nil {
		return nil, err
	}
	r.connect()
	steps := []func() error{r.load, r.addTasks, r.addSources, r.listen, r.bootGuest}
	for _, f := range prepare {
		steps = append(steps, func() error { return f(r) })
	}
	for _, step := range append(steps, r.freeze, r.loadOwn, r.setUp) {
		if err := step(); err != nil {
			r.Close()
			return nil, err
		}
	}
	r.nameCells()
	return r, nil
}

// connect gives the parts what they are built on.
func (r *Rig) connect() {
	p := r.Plan
	r.Judges.Plan, r.Arrivals.Plan, r.listing.Plan, r.checks.Plan, r.setup.Plan = p, p, p, p, p
	r.patchers = newPatchers(p)
	r.probes = probes{Plan: p, wiring: &r.wiring, tasks: &r.tasks}
	r.wiring.patchers = &r.patchers
	r.wiring.config = engine.Config{Handle: r.probes.hit, Audit: !r.twin}
	r.Kernel.Traps.Unhandled = r.unhandled
	r.Machine.Hooks().Blames = r.blames
}

// load puts text and data into memory, names them, and watches what may be patched.
func (r *Rig) load() error {
	r.mapTexts()
	r.mapData()
	for i := range r.Scenario.Probes {
		p := &r.Scenario.Probes[i]
		if f, known := r.Scenario.Place(p); known {
			r.watch(f, p.Offset+r.Scenario.Entry(p))
		}
	}
	if err := r.patchers.add(); err != nil {
		return err
	}
	r.Census.prepare(len(r.Scenario.Probes), r.Scenario.Machine.Patch == era.PatchStopMachine, r.arch)
	if err := r.listing.addWatched(true); err != nil {
		return err
	}
	for _, t := range r.patchers.Ftrace.Text() {
		if !t.Patched {
			continue
		}
		r.Machine.Memory().Watch(t.At, len(t.Code))
		if err := r.listing.add(&scenario.Text{Name: t.Name, At: t.At, Code: t.Code}); err != nil {
			return err
		}
	}
	return nil
}

// addFaults makes the handler of page faults call the functions of the data that they are at.
func (r *Rig) addFaults() {
	for i := range r.Scenario.Datas {
		d := &r.Scenario.Datas[i]
		if d.Run == "" {
			continue
		}
		r.Kernel.Traps.OnPageFault(func(x *smp.Ctx, addr arch.Addr) {
			if addr >= d.At && addr < d.At+arch.Addr(d.Room()) {
				r.anyRegs(x.Regs(), r.funcs[d.Run])
				x.Call(r.funcs[d.Run])
			}
		})
	}
}

func (r *Rig) addSources() error {
	r.addFaults()
	handlers := make(map[*smp.Source]*scenario.Source)
	names := r.Scenario.SourceNames()
	for i := range r.Scenario.Sources {
		s := &r.Scenario.Sources[i]
		src := &smp.Source{Kind: s.Kind.Machine, Name: names[i], AtMost: s.AtMost, Idle: s.Idle}
		if err := r.Machine.Interrupts().Add(src, s.CPU); err != nil {
			return err
		}
		handlers[src] = s
		r.Arrivals.add(src.Mover(), names[i])
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
			r.anyRegs(regs, r.funcs[s.Run]) // the interrupted code's registers are not passed on
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

// listen subscribes what follows the runs. A twin's runs are followed by nothing.
func (r *Rig) listen() error {
	if r.twin {
		return nil
	}
	r.Judges.listen(r.patchers.heads)
	r.Log.Subscribe(&r.Census, censusKinds...)
	r.Log.Subscribe(&r.Arrivals, arrivalKinds...)
	r.Judges.linear = newLinear(r)
	r.probes.handlerIPs = r.Scenario.HandlerIPs()
	if r.row.Boot == nil {
		r.probes.answers = r.Scenario.Answers()
	}
	return nil
}

// bootGuest boots an engine that is guest code.
func (r *Rig) bootGuest() error {
	w := &r.wiring
	g, is := w.settings.(engine.Guest)
	if is { // what a call leaves depends on them, without probes too
		g.SetRegs(&r.Kernel.Guest)
	}
	if r.row.Boot == nil || r.twin {
		return nil
	}
	w.config.Booted = r.row.Boot(w.settings, &r.Kernel.Guest, r.Scenario.Machine.CPUs)
	if is {
		r.Machine.Names().Further = r.furtherNames(g)
	}
	return nil
}

// freeze ends the building of the machine, and makes the first engine.
func (r *Rig) freeze() error {
	r.Machine.Freeze()
	r.renew()
	if r.row.Boot != nil && !r.twin {
		r.Census.readText(r.heads())
		r.Log.Subscribe(&r.Census, kpev.ApiEnter)
	}
	return nil
}

// renew makes the engine, and the state of what else patches text, as after booting.
func (r *Rig) renew() {
	r.probes.make()
	r.patchers.Observed.Begin()
	r.wiring.renew()
	r.patchers.begin(r.wiring.patcher(), r.wiring.owner())
	r.tasks.boot(&r.Machine.Cells)
	if r.Scenario.Does(act.Hits) {
		r.probes.counts.boot(&r.Machine.Cells, len(r.Scenario.Probes))
	}
}

// loadOwn lists the text of the kernel on which the engine has a probe of its own.
func (r *Rig) loadOwn() error {
	if g, is := r.wiring.settings.(engine.Guest); is && !r.twin {
		for _, t := range g.OwnText() {
			if err := r.listing.add(&scenario.Text{Name: t.Name, At: t.At, Code: t.Code}); err != nil {
				return err
			}
		}
	}
	name, at, code := r.wiring.engine.Own()
	if code == nil {
		return nil
	}
	r.Machine.Memory().BootText(at, code)
	r.probes.own = at
	return r.listing.add(&scenario.Text{Name: name, At: at, Code: code})
}

func (r *Rig) nameCells() {
	names := r.Machine.Names()
	names.Cell = func(id kapi.CellID) string {
		if r.tasks.counted && id == r.tasks.foreground.ID() {
			return "how many tasks are left"
		}
		if name := cmp.Or(r.Kernel.CellName(id), r.patchers.Hand.CellName(id)); name != "" {
			return name
		}
		return r.Readable(r.wiring.engine.CellName(id))
	}
	names.Monitor = func(i int) string { return properties.All[i].Name }
}
