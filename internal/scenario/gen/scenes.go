package gen

import (
	"cmp"
	"fmt"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
)

// A scene is a small program about one thing: a few functions, what comes and goes there, and tasks
// that make it come and go and call the functions. Nearly every call changes the state of its object, so
// states that take several calls in a row are reached. A program that has a bit of everything seldom
// calls that often for one object.
type scene struct {
	*maker
	things []*thing
	calls  []scenario.Op // of the functions, none of which a module takes away
	runs   []string      // functions that interrupts may run
	arrays bool          // probes are registered by arrays, too
	sure   bool          // no probe that is registered by its only user is refused
	lit    []bool        // by jump label: it is on at first
	hands  []*hand       // patchers of its own
	safe   bool          // one of them waits until tasks have passed safepoints

	settles bool // it is about jumps: most tasks wait for the optimizer between their calls
}

// A thing comes and goes: a probe, a client of ftrace, a key, a switch.
type thing struct {
	on, off scenario.Op
	more    []scenario.Op // what is done while it is there
	is      bool          // it is there if tasks run in the order in which they are drawn
	user    int           // things of one user belong to one task; 0: tasks may share it
}

// probesUser is the user of all probes, where tasks don't share them: on a kernel, and beside arrays,
// whose calls answer for several probes.
const probesUser = 1

// sceneIn: one in this many of the programs that aren't derived from a built-in one is a scene.
const sceneIn = 2

// A subject is what scenes are about.
type subject struct {
	times int                 // how often it is in the list that is drawn from
	where func(g *maker) bool // whether it is in the list, whatever the machine
	fits  func(g *maker) bool // whether the machine shows it
	draw  func(s *scene)
}

func traced(g *maker) bool { return g.sc.Machine.Kernel.Ftrace }
func labels(g *maker) bool { return g.sc.Machine.Kernel.Edition != rules.Edition26 }
func ours(g *maker) bool   { return g.sc.Machine.Engine == "" && !g.on.Contract && !g.on.Few }
func always(*maker) bool   { return true }

var subjects = []subject{
	{9, always, always, drawRegions},
	{4, always, always, drawCopies},
	{3, always, always, drawFaults},
	{3, always, always, drawReturns},
	{3, always, always, drawChanges},
	{7, always, traced, drawTraced},
	{4, always, labels, drawKeys},
	{3, ours, always, drawBoot},
	{3, ours, always, drawHands},
	{2, always, always, drawArrays},
	{4, ours, always, drawModular},
	{2, ours, always, drawLent},
	{2, ours, always, drawDebugged},
	{2, always, always, func(s *scene) { s.tale(drawJoint, drawGoing, drawUprobes, drawDebugger) }},
	{2, always, traced, func(s *scene) {
		s.tale(drawEntry, drawPatches, drawFprobes, drawUniverses, drawPrograms, drawDispatcher, drawTailCall)
	}},
}

// machinesMost is the number of machines that are drawn until one shows the subject.
const machinesMost = 6

// drawScene draws a scene. It reports false if no machine was drawn that shows its subject.
func drawScene(g *maker) bool {
	g.part("processor")
	if g.i386 = g.one(i386In / 2); g.on.Machines != nil {
		g.i386 = g.on.Machines[0].Arch.Bits32()
		g.whole32 = g.i386
	}
	if g.sc = by32(g, plainBase, base32)(); g.on.Machines == nil {
		g.labelled = false
	}
	g.sc.Name, g.sc.Texts, g.sc.Datas = "drawn", nil, nil
	g.part("subject")
	var list []*subject
	for i := range subjects {
		for range subjects[i].times {
			if subjects[i].where(g) {
				list = append(list, &subjects[i])
			}
		}
	}
	s, sub := &scene{maker: g}, list[g.rand.N(len(list))]
	g.part("machine")
	for i := 0; ; i++ {
		if g.machineOf(g.on.Machines); sub.fits(g) {
			break
		}
		if i == machinesMost {
			return false
		}
	}
	if g.one(2) {
		g.sc.Machine.CPUs = 2
	}
	g.part("scene")
	drawDatas(g)
	sub.draw(s)
	s.files()
	s.actors()
	s.callers()
	s.handles()
	s.prune()
	s.interrupts()
	g.built()
	g.settings(true)
	g.lies()
	g.settings(false)
	if len(s.hands) == 0 && !g.sc.Any(func(op *scenario.Op) bool { return op.Checked }) {
		strays(g)
	}
	firstInterrupts(g.sc)
	if g.on.Contract {
		g.sc = Sane(g.sc)
	}
	return slices.ContainsFunc(g.sc.Tasks, func(t scenario.Task) bool {
		return !t.Background // otherwise nothing happens to what callers run
	})
}

// text adds a function. Most are at any place in a cache line; some lie across the end of a page.
func (s *scene) text(name string, make func(f *function)) *function {
	at := sceneAt + arch.Addr(len(s.sc.Texts))*2*scenario.Page + arch.Addr(s.rand.N(64))
	if s.one(6) {
		at += scenario.Page - arch.Addr(64+s.rand.N(12))
	}
	f := &function{g: s.maker, at: at, calm: true}
	make(f)
	s.sc.Texts = append(s.sc.Texts, scenario.Text{Name: name, At: f.at, Code: f.code, Extable: f.extable})
	// A kernel's text goes on behind the page. Its kprobes read 16 bytes of an instruction, and refuse a probe where
	// they can't.
	if end := f.at + arch.Addr(len(f.code)); s.on.Contract && (end-1)%scenario.Page >= scenario.Page-16 {
		s.sc.Texts = append(s.sc.Texts, scenario.Text{Name: "behind-" + name, At: scenario.Align(end, scenario.Page),
			Code: []byte{0xc3}})
	}
	return f
}

// comes adds a thing that tasks may share.
func (s *scene) comes(on, off scenario.Op, more ...scenario.Op) *thing {
	t := &thing{on: on, off: off, more: more}
	s.things = append(s.things, t)
	return t
}

// belongs adds a thing that mostly has a user of its own, on a kernel always.
func (s *scene) belongs(on, off scenario.Op, more ...scenario.Op) {
	if t := s.comes(on, off, more...); s.on.Contract || !s.one(3) {
		t.user = probesUser + 1 + len(s.things)
	}
}

// probe adds a probe: mostly one that counts, some with a post_handler, and some that are registered disabled.
func (s *scene) probe(p scenario.Probe) string {
	count := []scenario.Step{{Kind: scenario.StepCount}}
	if p.Name = fmt.Sprint("k", len(s.sc.Probes)); p.Kind == scenario.ProbeKretprobe {
		p.Post = count
	} else if p.Pre == nil && (p.Post == nil || !s.one(10)) {
		p.Pre = count
	}
	m := &s.sc.Machine
	if p.Kind == scenario.ProbeKprobe && m.FaultHandlers && s.one(3) {
		p.Fault = count
	}
	p.Disabled = m.Batches && s.one(5)
	s.sc.Probes = append(s.sc.Probes, p)
	op := func(k *scenario.Operation) scenario.Op { return scenario.Op{Kind: k, Target: p.Name} }
	var more []scenario.Op
	if m.Batches {
		more = []scenario.Op{op(act.Disable), op(act.Enable)}
	}
	s.comes(op(act.Register), op(act.Unregister), more...)
	return p.Name
}

// kprobe adds a probe at an instruction, which may have a post_handler.
func (s *scene) kprobe(f string, at int, postIn int) string {
	p := scenario.Probe{Func: f, Offset: at}
	if s.one(postIn) {
		p.Post = []scenario.Step{{Kind: scenario.StepCount}}
	}
	return s.probe(p)
}

// array adds calls for several of the probes of a kind at once, beside those for each.
func (s *scene) array(kind scenario.ProbeKind) {
	var names []string
	for i := range s.sc.Probes {
		if p := &s.sc.Probes[i]; p.Kind == kind && !s.one(3) {
			names = append(names, p.Name)
		}
	}
	if s.sc.Machine.Batches && len(names) > 1 && s.one(3) {
		s.arrays = true
		s.comes(scenario.Op{Kind: act.RegisterAll, Targets: names},
			scenario.Op{Kind: act.UnregisterAll, Targets: names})
	}
}

// files adds those by which all probes are disarmed and jumps are forbidden, and a CPU that comes and goes.
func (s *scene) files() {
	if len(s.sc.Probes) > 0 && s.one(5) && !(s.on.Contract && len(s.sc.Sites) > 0) {
		s.comes(scenario.Op{Kind: act.Enabled}, scenario.Op{Kind: act.Enabled, On: true})
	}
	if len(s.sc.Probes) > 0 && s.one(5) && s.sc.Machine.Kernel.Optprobes {
		s.comes(scenario.Op{Kind: act.Optimization}, scenario.Op{Kind: act.Optimization, On: true})
	}
	// keys of a module are written for the CPU that loads it (text_poke_early): its task mustn't be moved to another
	keys := len(s.sc.Modules) > 0 && len(s.sc.Labels)+len(s.sc.Calls) > 0
	if m := &s.sc.Machine; s.one(12) && m.CPUs > 1 && !s.sc.Does(act.Alternatives) && !keys && !s.holds() {
		cpu := m.CPUs - 1
		s.comes(scenario.Op{Kind: act.Offline, CPU: cpu}, scenario.Op{Kind: act.Online, CPU: cpu})
	}
}

// actorsMost is the largest number of tasks that make things come and go.
const actorsMost = 3

// actors draws the tasks that make things come and go. In some scenes several tasks do so with the same things.
func (s *scene) actors() {
	if len(s.things) == 0 {
		return
	}
	n := 1
	if s.part("actors"); !s.one(3) {
		n = 2 + s.rand.N(actorsMost-1)
	}
	shared := s.one(2)
	for i := range n {
		s.numbered("actor", i)
		var mine []*thing
		for k, t := range s.things {
			user := t.user
			if user == 0 && (s.arrays || s.on.Contract) && t.on.Kind.Takes(scenario.TheProbes) {
				user = probesUser
			}
			if user == 0 && shared || cmp.Or(user, k)%n == i {
				mine = append(mine, t)
			}
		}
		if len(mine) == 0 {
			continue
		}
		t := scenario.Task{Name: fmt.Sprint("actor", i), CPU: i % s.sc.Machine.CPUs, Repeat: 1}
		if s.one(3) {
			t.Repeat = 2
		}
		t.Ops = s.acts(mine, s.sure && !s.arrays && (n == 1 || !shared) && t.Repeat == 1)
		s.sc.Tasks = append(s.sc.Tasks, t)
	}
}

// acts draws what a task does with its things. sure: registering a probe that isn't registered succeeds.
func (s *scene) acts(mine []*thing, sure bool) (ops []scenario.Op) {
	patient := s.settles && !s.one(3) || s.one(6) // the optimizer is mostly done with a call before the next
	do := func(op scenario.Op) {
		ops = append(ops, op)
		switch {
		case patient && !s.one(3):
			ops = append(ops, s.settled())
		case s.one(3):
			ops = append(ops, s.between())
		}
	}
	begin := func(t *thing) {
		op := t.on
		op.Checked = sure && op.Kind == act.Register
		do(op)
		t.is = true
	}
	if s.one(2) || s.settles && s.one(2) {
		for _, t := range mine {
			begin(t)
		}
	}
	for range 3 + s.rand.N(3+2*len(mine)) {
		switch t := mine[s.rand.N(len(mine))]; {
		case s.one(12): // what it is the wrong time for
			do(map[bool]scenario.Op{true: t.on, false: t.off}[t.is])
		case !t.is:
			begin(t)
		case len(t.more) > 0 && s.one(2):
			do(t.more[s.rand.N(len(t.more))])
		default:
			do(t.off)
			t.is = false
		}
	}
	if !s.one(4) {
		first := s.rand.N(len(mine))
		for k := range mine {
			if t := mine[(first+k)%len(mine)]; t.is {
				do(t.off)
				t.is = false
			}
		}
	}
	return append(ops, s.settled(), s.call())
}

// prune leaves out the probes that no task registers, with the calls for them.
func (s *scene) prune() {
	var names []string
	for i := range s.sc.Tasks {
		for _, op := range s.sc.Tasks[i].Ops {
			if op.Kind == act.Register || op.Kind == act.RegisterAll {
				names = append(names, probesOf(&op)...)
			}
		}
	}
	never := func(name string) bool { return !slices.Contains(names, name) }
	for i := range s.sc.Tasks {
		t := &s.sc.Tasks[i]
		t.Ops = slices.DeleteFunc(t.Ops, func(op scenario.Op) bool {
			return op.Target != "" && op.Kind.Takes(scenario.TheProbes) && never(op.Target)
		})
		for k := range t.Ops {
			if op := &t.Ops[k]; op.Kind == act.UnregisterAll {
				op.Targets = slices.DeleteFunc(slices.Clone(op.Targets), never)
			}
		}
	}
	s.sc.Probes = slices.DeleteFunc(s.sc.Probes, func(p scenario.Probe) bool { return never(p.Name) })
	if len(s.sc.Probes) == 0 {
		s.sc.Probes = nil // as a parsed scenario has them
	}
}

// between draws what a task does between two of its calls.
func (s *scene) between() scenario.Op {
	switch s.rand.N(4) {
	case 0:
		return scenario.Op{Kind: act.Schedule}
	case 1:
		return s.settled()
	}
	return s.call()
}

// call draws a call of one of the functions.
func (s *scene) call() scenario.Op {
	if len(s.calls) == 0 {
		return scenario.Op{Kind: act.Schedule}
	}
	return s.calls[s.rand.N(len(s.calls))]
}

// callers draws the tasks that call the functions meanwhile and, if they can be preempted, others to run instead.
func (s *scene) callers() {
	if len(s.calls) == 0 {
		return
	}
	m := &s.sc.Machine
	s.part("callers")
	n := 1 + s.rand.N(2)
	if s.one(12) {
		n += 2 + s.rand.N(4)
	}
	for i := range n {
		s.numbered("caller", i)
		cpu := (m.CPUs - 1 - i + n*m.CPUs) % m.CPUs
		var ops []scenario.Op
		for range 1 + s.rand.N(3) {
			ops = append(ops, s.call())
		}
		if s.one(2) {
			ops = slices.Insert(ops, 0, scenario.Op{Kind: act.Schedule})
		}
		if s.safe && s.one(2) {
			ops = append(ops, scenario.Op{Kind: act.Safepoint})
		}
		if s.sc.Does(act.PatchFunc) && s.one(2) { // a task goes over as it enters user mode
			ops = append(ops, scenario.Op{Kind: act.User})
		}
		s.sc.Tasks = append(s.sc.Tasks, scenario.Task{Name: fmt.Sprint("caller", i), CPU: cpu, Repeat: 2 + s.rand.N(6),
			Ops: append(ops, s.breath()...), Background: true})
		if m.Preempt >= scenario.PreemptFull && s.one(2) {
			s.sc.Tasks = append(s.sc.Tasks, scenario.Task{Name: fmt.Sprint("other", i), CPU: cpu,
				Repeat: 1 + s.rand.N(3), Ops: []scenario.Op{{Kind: act.Schedule}}})
			most := 4
			if s.one(4) { // hits any instruction repeatedly
				most = 16
			}
			s.sc.Sources = append(s.sc.Sources, scenario.Source{Kind: scenario.SourcePreempt, CPU: cpu,
				AtMost: 1 + s.rand.N(most)})
		}
	}
}

// interrupts draws interrupts. Either timers run a function, or a non-maskable one does: see sources.
func (s *scene) interrupts() {
	s.part("sources")
	run, m := "", &s.sc.Machine
	if len(s.runs) > 0 && !s.one(3) {
		run = s.runs[s.rand.N(len(s.runs))]
	}
	nmi := m.Patch == era.PatchBreakpoint && s.one(2)
	for cpu := range m.CPUs {
		if s.one(3) {
			src := scenario.Source{Kind: scenario.SourceTimer, CPU: cpu, AtMost: 1 + s.rand.N(3), Opens: s.one(6)}
			if !nmi {
				src.Run = run
			}
			s.sc.Sources = append(s.sc.Sources, src)
		}
	}
	if nmi || s.one(4) {
		src := scenario.Source{Kind: scenario.SourceNMI, CPU: s.rand.N(m.CPUs), AtMost: 1 + s.rand.N(2)}
		if nmi {
			src.Run = run
		}
		s.sc.Sources = append(s.sc.Sources, src)
	}
}

// tale draws one of the parts of other programs by itself, or two of them.
func (s *scene) tale(draws ...func(g *maker)) {
	s.wanted = true
	for range 1 + s.rand.N(2) {
		at := s.rand.N(len(draws))
		draws[at](s.maker)
		draws = slices.Delete(slices.Clone(draws), at, at+1)
	}
	s.wanted = false
}
