package extract

import (
	"slices"

	"kpsim/internal/search/replay"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// An op is what an access does.
type op uint8

const (
	load   op = iota
	store     // held for a while, or not
	failed    // a locked read-modify-write of a cell that stored nothing
	swap      // a locked read-modify-write: it loads saw and stores value, at once
	fence     // all earlier stores of the CPU have taken effect
	gone      // nothing: a fence that turned out to be part of a swap
)

// An access is one of compiled code to memory.
type access struct {
	op     op
	cpu    uint8
	size   uint8 // bytes, of at; 0 of a fence
	task   uint8
	at     arch.Addr
	value  uint64    // that it stores
	saw    uint64    // that it loads
	issue  int       // its place in the run
	effect int       // the place at which other CPUs see the store; later than any place: not before the end
	in     arch.Inst // nil: what the kernel did
	order  kapi.Order
	cell   bool     // it is of a variable of the kernel's routines
	guess  bool     // a fence that is there because the kernel ran
	back   int      // of a cell under lkmm: how many stores are newer
	spot   smp.Spot // of what the kernel did: where

	word int // in the record's words; -1: none that is kept
	from int // the store whose value it loads; -1: none in the run
}

func (a *access) loads() bool  { return a.op == load || a.op == swap || a.op == failed }
func (a *access) stores() bool { return a.op == store || a.op == swap }

// A record is what a run did with memory.
type record struct {
	m             *smp.Machine
	accesses      []access
	words         []word
	lkmm          bool // cells have versions
	routinesKnown bool // what the kernel's routines do is known, fences too
}

// recordOf makes the run of a replay again, up to where it breaks a property.
func recordOf(r *replay.Replay) *record {
	m := r.Rig.Machine
	rec := &record{m: m, lkmm: r.Rig.Scenario.Machine.Memory == smp.LKMM}
	f := &recorder{record: rec, log: &r.Rig.Log, strategy: strategyOf(r),
		spare: r.Rig.Machine.Memory().System().New()}
	f.cpus = make([]cpu, m.CPUs())
	f.play(r, f)
	f.settle()
	rec.findWords()
	i := &initials{record: rec, strategy: strategyOf(r)}
	i.play(r, i)
	rec.order()
	return rec
}

// strategy is a replay's schedule, as a strategy of the run to be made again.
type strategy struct{ sched.Strategy }

func strategyOf(r *replay.Replay) strategy {
	return strategy{sched.NewAnchored(r.Taken, r.Rig.Machine.Names())}
}

// play makes the run again, with a tracer.
func (s strategy) play(r *replay.Replay, t smp.Tracer) {
	r.Rig.Machine.Trace(t)
	if sink, ok := t.(traces.Sink); ok {
		r.Rig.Log.SubscribeAll(sink)
		defer r.Rig.Log.Unsubscribe(sink)
	}
	defer r.Rig.Machine.Trace(nil)
	if run := r.Rig.Play(s); run.Digest != r.Digest {
		sim.Bug("extract: the run has digest %016x, the replay had %016x", run.Digest, r.Digest)
	}
}

// A recorder takes down what a run does. It implements smp.Tracer and traces.Sink.
type recorder struct {
	*record
	strategy
	log   *traces.Log
	cpus  []cpu
	spare arch.System    // a trial's
	now   int            // how many accesses and effects there were
	news  []traces.Event // of stores that are held, not yet found
}

// A cpu is what a recorder knows of a CPU.
type cpu struct {
	in     arch.Inst // under way
	drains bool      // before it, all stores of the CPU take effect
	first  int       // of accesses: where its own begin
	other  bool      // it has done something else than text since its last instruction
	holds  int       // stores that others don't see
	waits  []int     // of accesses: those of them that are known, oldest first
}

// last is later than any place in a run.
const last = int(^uint(0) >> 2)

// over reports whether a property is broken: what comes after doesn't count.
func (f *recorder) over() bool { return f.log.Found != nil }

// Instruction implements smp.Tracer.
func (f *recorder) Instruction(id uint8, in arch.Inst, regs *arch.Regs) {
	if f.over() {
		return
	}
	f.settle()
	c := &f.cpus[id]
	if c.other && c.holds == 0 {
		f.add(access{op: fence, cpu: id, guess: true, order: kapi.OrderMB})
	}
	c.in, c.drains, c.first, c.other = in, in.Operation().Drains, len(f.accesses), false
	if c.drains {
		f.add(access{op: fence, cpu: id, in: in, order: kapi.OrderMB})
	}
	t := trial{f: f, cpu: id, system: f.spare}
	t.system.Copy(f.m.Memory().System())
	now := *regs
	in.Exec(&now, &t)
}

// add takes an access.
func (f *recorder) add(a access) {
	f.now++
	a.issue, a.effect, a.word, a.from = f.now, f.now, -1, -1
	if a.in == nil {
		a.spot = f.m.Names().Spot(sim.Mover(a.cpu))
	}
	a.task = uint8(f.m.Inspect().Current(int(a.cpu)).ID)
	f.accesses = append(f.accesses, a)
}

// Access implements smp.Tracer. It gets no values; the recorder determines what an instruction
// does before it is executed.
func (*recorder) Access(uint8, arch.Addr, int, bool) {}

// load takes a load by the instruction that is about to be executed.
func (f *recorder) load(id uint8, at arch.Addr, size int, v uint64) {
	f.add(access{op: load, cpu: id, size: uint8(size), at: at, saw: v, in: f.cpus[id].in})
}

// store takes a store by the instruction that is about to be executed.
func (f *recorder) store(id uint8, at arch.Addr, size int, v uint64) {
	c := &f.cpus[id]
	if c.drains {
		for i := c.first; i < len(f.accesses); i++ {
			if b := &f.accesses[i]; b.op == load && b.at == at && b.size == uint8(size) {
				b.op, b.value, b.order, f.accesses[c.first].op = swap, v, kapi.OrderFull, gone
				return
			}
		}
	}
	f.add(access{op: store, cpu: id, size: uint8(size), at: at, value: v, in: c.in})
	if c.drains {
		f.add(access{op: fence, cpu: id, in: c.in, order: kapi.OrderMB})
	}
}

// Places of cells among the addresses of words, where no memory is, and of what one CPU
// hands to another.
const (
	cellBase arch.Addr = 1 << 62
	mailBase           = cellBase + 1<<40
	cellSize           = 8
)

func cellAt(id kapi.CellID) arch.Addr { return cellBase + arch.Addr(id)*cellSize }

// Cell implements smp.CellTracer.
func (f *recorder) Cell(c smp.CellAccess) {
	if f.over() {
		return
	}
	f.routinesKnown = true
	f.settle()
	a := access{cpu: c.CPU, order: c.Order, back: c.Back, cell: true, at: cellAt(c.ID), size: cellSize}
	switch c.Op {
	case smp.CellLoad:
		a.op = load
	case smp.CellStore:
		a.op = store
	case smp.CellRMW:
		a.op = swap
	case smp.CellFailed:
		a.op = failed
	case smp.CellFence:
		a.op, a.cell, a.at, a.size = fence, false, 0, 0
	case smp.CellSend:
		a.op, a.order, a.at = store, kapi.OrderRelease, mailBase+arch.Addr(c.To)*cellSize
	case smp.CellTake:
		a.op, a.order, a.at = load, kapi.OrderAcquire, mailBase+arch.Addr(c.To)*cellSize
	}
	if last := len(f.accesses) - 1; (a.op == swap || a.op == failed) && !f.lkmm && f.accesses[last].op == fence &&
		f.accesses[last].cpu == a.cpu {
		f.accesses[last].op = gone // of the instruction itself, which waits until the CPU holds nothing
	}
	f.add(a)
}

// Event implements traces.Sink.
func (f *recorder) Event(e *traces.Event) *traces.Finding {
	if f.over() || int(e.CPU) >= len(f.cpus) {
		return nil
	}
	c := &f.cpus[e.CPU]
	switch e.Kind {
	case smpev.Held:
		c.holds++
		f.news = append(f.news, *e)
	case smpev.Commit:
		f.settle()
		c.holds--
		f.commit(e)
	case smpev.Exec:
	case smpev.Trap:
		if c.in != nil && arch.Addr(e.B) == c.in.At() && isFault(e.A) { // it hasn't been executed
			f.accesses = f.accesses[:c.first]
		}
		c.in, c.other = nil, true
	default:
		c.other = true
	}
	return nil
}

// mostHeld is how many stores a CPU holds at most, and the one that it makes.
const mostHeld = 33

// settle finds the stores that were reported as held: the newest ones of each CPU. It runs a step
// later, because a store is reported while it is made.
func (f *recorder) settle() {
	if len(f.news) == 0 {
		return
	}
	for _, e := range slices.Backward(f.news) {
		most := mostHeld
		for i := len(f.accesses) - 1; i >= 0 && most > 0; i-- {
			a := &f.accesses[i]
			if a.op != store || a.cpu != e.CPU {
				continue
			}
			if most--; a.effect == a.issue && a.is(&e) && (a.cell || a.value == e.B) {
				a.effect = last
				f.cpus[e.CPU].waits = append(f.cpus[e.CPU].waits, i)
				break
			}
		}
	}
	f.news = f.news[:0]
	for i := range f.cpus {
		slices.Sort(f.cpus[i].waits)
	}
}

// is reports whether an event is about the store.
func (a *access) is(e *traces.Event) bool {
	if e.C == 0 {
		return a.at == cellAt(kapi.CellID(e.A))
	}
	return a.at == arch.Addr(e.A) && uint64(a.size) == e.C
}

// commit has the oldest store of a CPU take effect.
func (f *recorder) commit(e *traces.Event) {
	c := &f.cpus[e.CPU]
	for k, i := range c.waits {
		if a := &f.accesses[i]; a.is(e) {
			f.now++
			a.effect = f.now
			c.waits = slices.Delete(c.waits, k, k+1)
			return
		}
	}
}

// initials takes down what words hold before compiled code runs. It implements smp.Tracer.
type initials struct {
	*record
	strategy
	done bool
}

// Instruction implements smp.Tracer.
func (i *initials) Instruction(uint8, arch.Inst, *arch.Regs) {
	if i.done {
		return
	}
	i.done = true
	for k := range i.words {
		w := &i.words[k]
		if w.cell {
			continue
		}
		w.first, _ = i.m.Memory().Load(w.at, int(w.size))
	}
}

// Access implements smp.Tracer.
func (*initials) Access(uint8, arch.Addr, int, bool) {}
