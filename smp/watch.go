package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/fetch"
)

// A Footprint reports to an observer what each step of the machine touches. It holds the
// touches of the current step, and what is known about memory that CPUs share.
//
// A step is private if it is an instruction of text that touches nothing visible to others
// and doesn't change which interrupts may be delivered to its CPU. Every other step of a CPU
// reads the CPU's boundary, which a delivery writes. So a delivery conflicts with those
// steps. It commutes with private steps in this sense: the instruction is executed before the
// interrupt or after its IRET, and no run can tell which.
type Footprint struct {
	m        *Machine
	observer sim.Observer
	stood    stance // of the CPU whose step is under way, when the step began
	now      stance // when the step before ended, of nowOf
	nowOf    *CPU
	plans    bool // the observer is a sim.Planner
	asked    bool // the instruction asked for more than registers and memory
	touches       // of the step under way
	reader        // the routine whose step is under way
	ahead    [sim.MaxCPUs]sim.Touch
	sharing  // what is known in the run
	afresh   fresh

	atomicIRQs bool        // see ObserveAtomicIRQs
	inside     *CPU        // it is in an interrupt that is one step with its delivery
	apart      []sim.Touch // touches of that step, in case it turns out to be more than one step
	late       bool        // the next run is observed from ObserveNow on
	begun      bool        // the run is observed from the step on that is about to begin

	data  arch.Memory // watchedMemory, converted once
	guard arch.Memory // guardedWatch likewise
	trial trial
}

// touches are the objects that the step under way has touched.
type touches struct {
	mover   sim.Mover // whose step it is, NoMover if none is under way
	touched []sim.Touch
	marks   uint64 // of the objects in touched: one without its mark isn't there
	places  places // where touched has an object, once it has many
}

// A places finds objects in a list: open addressing, twice as many places as objects. It is emptied by
// another turn, since most steps touch a few objects and a few touch thousands.
type places struct {
	list []place // a power of two of them
	used int
	turn uint64
}

type place struct {
	object sim.Object
	turn   uint64
	at     int
}

// at returns where the list has an object, and adds it as the entry n if it hasn't.
func (p *places) at(o sim.Object, n int) int {
	if 2*p.used >= len(p.list) {
		p.grow()
	}
	mask := uint64(len(p.list) - 1)
	for i := uint64(o) * 0x9e3779b97f4a7c15 >> 32; ; i++ {
		switch e := &p.list[i&mask]; {
		case e.turn != p.turn:
			*e = place{o, p.turn, n}
			p.used++
			return n
		case e.object == o:
			return e.at
		}
	}
}

func (p *places) empty() { p.used, p.turn = 0, p.turn+1 }

func (p *places) grow() {
	old, turn := p.list, p.turn
	*p = places{list: make([]place, max(128, 2*len(old))), turn: 1}
	for _, e := range old {
		if e.turn == turn {
			p.at(e.object, e.at)
		}
	}
}

// fresh is what observing a run afresh needs (ObserveAfresh).
type fresh struct {
	on       bool  // the observer gets what it would get from a machine that has run nothing else
	learning bool  // what this run shows is known from the beginning of all later runs
	learnt   bool  // learning was set for the last run
	swapped  bool  // words is what is known in this run, kept what is known otherwise
	base     words // what a run begins with
	kept     struct {
		words words
		grew  bool
	}
}

// Footprint returns what tells observers of the machine's steps.
func (m *Machine) Footprint() *Footprint { return &m.footprint }

func (f *Footprint) init(m *Machine) {
	f.m, f.data = m, &watchedMemory{f}
	f.trial.f, f.trial.system = f, m.arch.BootSystem(0, 0)
	f.guard = &guardedWatch{watchedMemory{f}}
}

// A stance is the CPU state that a private step leaves unchanged.
type stance struct {
	task   *Task
	frames int
	guest  bool
	open   bool // c takes maskable interrupts
	yields bool // an interrupt would give c to another task
	after  after
	nmi    bool
	site   site
}

// stand stores c's stance to s.
func (f *Footprint) stand(c *CPU, s *stance) {
	s.task, s.frames, s.guest, s.after, s.nmi = c.task, len(c.task.frames), c.guest, c.after, c.nmiBlocked
	s.open = c.open()
	s.yields = f.m.cfg.Full && s.open && c.task.preempt == 0 && c.task.class != classStopper
	if f.m.foot.atomicIRQs {
		s.site = f.site(c)
	} else {
		s.site = site{}
	}
}

// Observe reports the steps of each run to o, from the next Reset on; nil ends that. In an
// observed run every boundary is a step of its own. Events and questions don't change.
func (f *Footprint) Observe(o sim.Observer) { f.setObserver(o, false) }

// ObserveAfresh is Observe with reports that don't depend on earlier runs. Memory counts as
// shared only from the point where the run itself shows it, and the knowledge is dropped after
// the run. With learn set, what the run shows is known from the beginning of all later runs.
func (f *Footprint) ObserveAfresh(o sim.Observer, learn bool) {
	f.setObserver(o, true)
	f.afresh.learning = learn
}

func (f *Footprint) setObserver(o sim.Observer, afresh bool) {
	f.observer, f.afresh.on, f.afresh.learning, f.atomicIRQs = o, afresh, false, false
	_, f.plans = o.(sim.Planner)
}

// SharedGrew reports whether a run since the last call has shown that something is shared
// that wasn't known to be. Steps of earlier runs that touched it were reported without it.
// What is known to be shared never shrinks.
func (f *Footprint) SharedGrew() bool {
	grew := &f.grew
	if f.afresh.swapped {
		grew = &f.afresh.kept.grew
	}
	was := *grew
	*grew = false
	return was
}

// reset begins a run: with an observer or without.
func (f *Footprint) reset() {
	m := f.m
	m.foot, m.mem.data, m.mem.own, m.turns.p.Ahead = nil, &m.mem, &m.mem, nil
	if m.mem.guards {
		m.mem.own = &m.mem.guard
	}
	m.weak.wrapMemory()
	m.cpus.reserves.wrapMemory()
	a := &f.afresh
	if a.swapped { // the last run was observed afresh
		if a.learnt {
			a.base.copy(&f.words)
		}
		f.words, a.kept.words = a.kept.words, f.words
		f.grew, a.swapped = a.kept.grew, false
	}
	if f.observer != nil {
		if a.on {
			a.kept.words.copy(&a.base)
			f.words, a.kept.words = a.kept.words, f.words
			a.kept.grew, a.swapped, a.learnt = f.grew, true, a.learning
		}
		if f.late {
			f.late = false
			return
		}
		f.watch()
	}
}

// watch starts reporting steps to the observer.
func (f *Footprint) watch() {
	m := f.m
	m.foot, m.mem.data, m.mem.own = f, f.data, f.data
	if m.mem.guards {
		m.mem.own = f.guard
	}
	m.weak.wrapMemory()
	m.cpus.reserves.wrapMemory()
	if f.plans {
		m.turns.p.Ahead = &f.ahead
	}
	f.untouch()
	f.mover, f.apart, f.inside = sim.NoMover, f.apart[:0], nil
	f.nowOf = nil
	for _, t := range m.tasks.all {
		t.use.begin(t, f.m.tasks.pointer(t))
	}
}

// cpu returns the CPU whose step is under way, nil if it is no CPU's.
func (f *Footprint) cpu() *CPU {
	switch mv := f.mover; {
	case mv == sim.NoMover:
		return nil
	case mv < sim.MoverIPI:
		return &f.m.cpus.list[mv]
	case mv < sim.MoverSource:
		return &f.m.cpus.list[mv-sim.MoverIPI]
	case mv >= sim.MoverDrain:
		return &f.m.cpus.list[mv-sim.MoverDrain]
	default:
		return f.m.irqs.sources[mv-sim.MoverSource].cpu
	}
}

// begin begins the step of a mover.
func (f *Footprint) begin(mv sim.Mover) {
	f.mover, f.asked = mv, false
	f.reader.reset()
	c := f.cpu()
	if c == nil {
		return
	}
	if t := c.task.top(); mv < sim.MoverIPI && t != nil && t.kind == routine {
		f.began, f.by, f.before = t.ctx, t.ctx, t.ctx.read
	}
	m := f.m
	m.mem.cpu = c.id
	if f.nowOf == c { // it hasn't moved since
		f.stood = f.now
	} else {
		m.footprint.stand(c, &f.stood)
	}
	if mv < sim.MoverIPI && c.guest {
		if in := c.known(); in != nil { // else the fetch is reported by itself
			m.foot.touchFetch(c.regs.IP, int(in.Len))
		}
	}
}

// end reports the step under way, if there is one.
func (f *Footprint) end() {
	mv := f.mover
	f.nowOf = nil
	if mv == sim.NoMover {
		return
	}
	if c := f.cpu(); c != nil {
		now := &f.now
		f.stand(c, now)
		f.nowOf = c
		f.closes(c, now)
		c.task.use.pointer(c.task, f.m.arch.StackPointer(&c.regs))
		same := f.stood == *now
		switch {
		case mv >= sim.MoverDrain:
		case mv >= sim.MoverIPI:
			atomic := f.inside != nil && same
			f.add(object(objBoundary, uint64(c.id)), !atomic)
			for _, t := range f.apart {
				if !atomic {
					f.add(t.Object, t.Write)
				}
			}
			f.apart = f.apart[:0]
		case len(f.touched) > 0 || f.asked || !now.guest || now.after != 0 || !same || f.m.mem.lent(c.regs.IP):
			f.add(object(objBoundary, uint64(mv)), f.atomicIRQs && (!same || f.asked))
		}
	}
	f.inside = nil
	f.mover = sim.NoMover
	f.observer.Stepped(mv, f.touched)
	f.untouch()
}

// untouch forgets what was touched.
func (t *touches) untouch() {
	t.touched, t.marks = t.touched[:0], 0
}

// closes notes that a step has made its CPU stop taking interrupts. The step is therefore
// ordered with other CPUs' sending of interrupts: one sent before it could have been delivered
// in between, although neither step delivers it.
func (f *Footprint) closes(c *CPU, now *stance) {
	if f.stood.open && !now.open {
		f.add(object(objIPI, uint64(c.id)), false)
	}
	if f.stood.yields && !now.yields {
		f.add(object(objQueue, uint64(c.id)), false)
	}
}

// add records one touch of the step under way.
func (t *touches) add(o sim.Object, write bool) {
	if t.mover == sim.NoMover {
		return
	}
	i := len(t.touched)
	switch mark := uint64(1) << (uint64(o) * 0x9e3779b97f4a7c15 >> 58); {
	case i > fewTouched:
		i = t.places.at(o, i)
	case t.marks&mark != 0:
		for i = 0; i < len(t.touched) && t.touched[i].Object != o; i++ {
		}
		fallthrough
	default:
		t.marks |= mark
	}
	if i < len(t.touched) {
		t.touched[i].Write = t.touched[i].Write || write
		return
	}
	if t.touched = append(t.touched, sim.Touch{Object: o, Write: write}); i == fewTouched {
		t.places.empty()
		for k := range t.touched {
			t.places.at(t.touched[k].Object, k)
		}
	}
}

// fewTouched is how many touches of a step are searched linearly. A step that loads a module
// has thousands of touches: those are indexed by places.
const fewTouched = 32

// take is add of an object by its sort and number.
func (t *touches) take(sort, number uint64, write bool) { t.add(object(sort, number), write) }

// text records a read or write of n bytes of text, chunk by chunk. A read counts only for
// chunks that are ever written.
func (f *Footprint) text(a arch.Addr, n int, write bool) {
	for at, end := a&^(chunk-1), a+arch.Addr(n); at < end; at += chunk {
		if write || f.stored(at) {
			f.take(objChunk, bytesNumber(at), write)
			f.read(object(objChunk, bytesNumber(at)))
		}
	}
}

// stored reports whether the chunk of text at a is watched, or was found to be
// stored to in another run.
func (f *Footprint) stored(a arch.Addr) bool {
	p := f.m.mem.page(a)
	return p != nil && p.code != nil && (p.watched[a%pageSize/chunk] || f.words.shared(bytesNumber(a)))
}

// store records a store to text. If fetches may be stale, each other CPU's last serialising
// step is ordered with it.
func (f *Footprint) store(a arch.Addr, watched bool) {
	if !watched && f.words.share(bytesNumber(a)) {
		f.grew = true
	}
	f.take(objChunk, bytesNumber(a), true)
	if f.m.cfg.Fetch == fetch.Coherent {
		return
	}
	me := f.cpu()
	for i := range f.m.cpus.list {
		if me != &f.m.cpus.list[i] {
			f.take(objFloor, uint64(i), false)
		}
	}
}

// lookAhead finds out the first touch of each CPU's next step.
func (f *Footprint) lookAhead() {
	m := f.m
	for i := range m.cpus.list {
		c := &m.cpus.list[i]
		f.ahead[i] = sim.Touch{}
		switch t := c.task.top(); {
		case t == nil:
			f.ahead[i] = sim.Touch{Object: object(objQueue, uint64(i)), Write: true}
		case t.kind == routine:
			f.ahead[i] = t.ctx.ahead
		case m.text.rest(c) != nil:
			f.ahead[i] = sim.Touch{Object: object(objChunk, bytesNumber(m.text.rest(c).at)), Write: true}
		case t.kind == guest:
			if f.stored(c.regs.IP) {
				f.ahead[i] = sim.Touch{Object: object(objChunk, bytesNumber(c.regs.IP))}
			} else if m.mem.guards {
				f.ahead[i] = f.trial.of(c)
			}
		}
	}
}

// ObserveLate leaves the next run unobserved until ObserveNow is called while a question is
// put. It is for a run that repeats an earlier one up to that question.
func (f *Footprint) ObserveLate() { f.late = true }

// ObserveNow starts reporting steps to the observer. It is called while a Step question is
// put.
func (f *Footprint) ObserveNow() {
	if f.Observing() {
		sim.Bug("the run is observed already")
	}
	f.watch()
	f.begun = true
}

// Observing reports whether the step under way is reported to an observer.
func (f *Footprint) Observing() bool { return f.m.foot != nil }
