package gen

import (
	"bytes"
	"fmt"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/era"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/fetch"
)

// This file draws patchers of the scenario's own, as JITs, hooks and hot patches have them, which do what is right:
// a jump is stored behind a breakpoint, or at once within 8 aligned bytes, or while all others stand elsewhere; CPUs
// serialise after each step; memory for code is given back when no task comes back there.

// handsAt is where memory for code begins.
const handsAt arch.Addr = 0xffffffff81180000

// handCode is how much memory each function there has.
const handCode = 32

// everyCPU stands for the set of all CPUs, whose number isn't known yet.
const everyCPU = ^uint64(0)

// A hand is a patcher of the scenario's own.
type hand struct {
	*scene
	ops     []scenario.Op // what it does, again and again
	apart   bool          // it has a CPU of its own
	stops   bool          // it stops others
	spins   bool          // its breakpoint's handler spins until it goes on, so it calls nothing meanwhile
	outside bool          // no interrupt runs the text: it can't be waited for, or moved
	alias   arch.Addr     // where compiled code stores to the function; 0: it has no alias
}

// drawHands adds functions that are patched by hand, and a task for each place, sometimes beside probes or keys.
func drawHands(s *scene) {
	for range 1 + s.rand.N(2) {
		s.hooked(fmt.Sprint("hooked", len(s.sc.Texts)))
	}
	switch s.rand.N(4) {
	case 0:
		drawRegions(s)
	case 1:
		if labels(s.maker) {
			drawKeys(s)
		}
	}
	s.sure = false // a probe may be refused beside a breakpoint that isn't a probe's
}

// hooked adds a function in which one place is patched, or two by two tasks.
func (s *scene) hooked(name string) {
	h := &hand{scene: s}
	draws := []func(*hand, string){(*hand).hook, (*hand).hook}
	if m := &s.sc.Machine; !s.stops() && m.Patch == era.PatchBreakpoint {
		draws = append(draws, (*hand).image, (*hand).moved, (*hand).guarded)
	}
	if s.sc.Machine.Fetch != fetch.Mixing { // which mixes what a store at once has changed, too
		draws = append(draws, (*hand).number, (*hand).linked, (*hand).held)
	}
	draws[s.rand.N(len(draws))](h, name)
	s.called(name, true)
	if s.one(3) {
		h.read(name)
	}
	if !h.outside {
		s.runs = append(s.runs, name)
	}
	s.hands = append(s.hands, h)
}

// stops reports whether a patcher stops other CPUs. Two that stop each other hang: one of them may stop those that
// call (held).
func (s *scene) stops() bool {
	return slices.ContainsFunc(s.hands, func(h *hand) bool { return h.stops })
}

// holds reports whether a CPU may be kept where it is by a patcher: stop_machine then hangs, as does a CPU that goes.
func (s *scene) holds() bool {
	return s.stops() || slices.ContainsFunc(s.hands, func(h *hand) bool { return h.spins })
}

// op adds an operation on a place.
func (h *hand) op(k *scenario.Operation, f string, at int, set ...func(op *scenario.Op)) {
	op := scenario.Op{Kind: k, Target: f, Offset: at}
	for _, x := range set {
		x(&op)
	}
	h.ops = append(h.ops, op)
	if !h.spins && h.one(8) {
		h.ops = append(h.ops, h.between())
	}
}

func hex(b ...byte) func(op *scenario.Op) { return func(op *scenario.Op) { op.Bytes = b } }
func by(n int) func(op *scenario.Op)      { return func(op *scenario.Op) { op.By = n } }
func sized(n int) func(op *scenario.Op)   { return func(op *scenario.Op) { op.Size = n } }

func to(form scenario.Form, f string, at int) func(op *scenario.Op) {
	return func(op *scenario.Op) { op.Form, op.Targets, op.Into = form, []string{f}, at }
}

func goes(f string, at int) func(op *scenario.Op) {
	return func(op *scenario.Op) { op.Targets, op.Into = []string{f}, at }
}

// sync makes all CPUs serialise.
func (h *hand) sync() {
	switch h.rand.N(8) {
	case 3:
		h.compiled(h.synced)
	case 0:
		h.ops = append(h.ops, scenario.Op{Kind: act.Membarrier})
	case 1:
		h.op(act.Flush, h.sc.Texts[0].Name, 0, sized(1))
		h.ops = append(h.ops, scenario.Op{Kind: act.SyncCore})
	case 2:
		h.ops = append(h.ops, scenario.Op{Kind: act.SyncCore, Hand: scenario.Hand{CPUs: everyCPU}},
			scenario.Op{Kind: act.Serialise})
	default:
		h.ops = append(h.ops, scenario.Op{Kind: act.SyncCore})
	}
}

// behind stores an instruction over another of the same length behind a breakpoint. goOn says where its handler goes.
func (h *hand) behind(f string, at int, tail func(op *scenario.Op), first byte, goOn func(op *scenario.Op)) {
	if h.one(4) {
		called, on := fmt.Sprint("called", len(h.sc.Texts)), goOn
		h.text(called, func(f *function) {
			f.plain()
			f.put(0xc3)
		})
		goOn = func(op *scenario.Op) {
			on(op)
			op.Calls = called
		}
	}
	h.op(act.OnBreakpoint, f, at, goOn)
	if h.aliased(f) {
		h.compiled(func(c *function) {
			for _, store := range []struct {
				at int
				b  []byte
			}{{at, []byte{x86.Int3}}, {at + 1, h.bytes(f, at+1, tail)}, {at, []byte{first}}} {
				c.store(h.alias+arch.Addr(store.at), store.b)
				h.synced(c)
			}
		})
		return
	}
	h.op(act.Write, f, at, hex(x86.Int3))
	h.sync()
	h.op(act.Write, f, at+1, tail)
	h.sync()
	h.op(act.Write, f, at, hex(first))
	h.sync()
}

// sites adds a function with a nop of 5 bytes, sometimes two, and returns where they are. Probes may stand beside them.
func (h *hand) sites(name string, most int) (at []int) {
	entry := h.one(3) // what is before the nop is enough for a jump
	h.text(name, func(f *function) {
		f.calm = !entry
		for range h.rand.N(3) {
			f.plainOf(1 + h.rand.N(4))
		}
		for entry && len(f.code) < x86.JumpLen {
			f.plainOf(1 + h.rand.N(4))
		}
		for range 1 + h.rand.N(most) {
			at = append(at, len(f.code))
			f.put(x86.Nop5[:]...)
			for range 1 + h.rand.N(3) {
				f.plainOf(1 + h.rand.N(5))
			}
		}
		if labels(h.maker) && h.one(4) { // the kernel is another patcher of this text
			h.label(f, name)
		}
		f.put(0xc3)
	})
	free := func(b int) bool { // neither a probe there nor its jump is over a nop
		return !slices.ContainsFunc(at, func(n int) bool { return b < n+x86.JumpLen && n < b+x86.JumpLen })
	}
	starts := Boundaries(h.sc, name)
	for range h.rand.N(3) {
		if b := starts[h.rand.N(len(starts))]; free(b) {
			h.kprobe(name, b, 3)
		}
	}
	if entry && h.one(2) {
		h.probe(scenario.Probe{Kind: scenario.ProbeKretprobe, Func: name, Maxactive: h.rand.N(3)})
	}
	return at
}

// to adds a function that is jumped to.
func (h *hand) to(name string) string {
	h.text(name, func(f *function) {
		f.put(0xb8, byte(h.rand.N(100)), 0, 0, 0) // mov $n,%eax
		f.put(0xc3)
	})
	if h.one(4) {
		h.kprobe(name, 0, 3)
	}
	return name
}

// hook stores a jump over the nop, and the nop over the jump. Where there are two, another patcher does that with the
// second.
func (h *hand) hook(name string) {
	at := h.sites(name, 2)
	h.jumps(name, at[0], h.to(name+"to"))
	if len(at) > 1 {
		beside := &hand{scene: h.scene}
		beside.jumps(name, at[1], h.to(name+"into"))
		h.outside = h.outside || beside.outside
		h.hands = append(h.hands, beside)
	}
}

// jumps draws how a jump is stored and taken back.
func (h *hand) jumps(name string, at int, goal string) {
	nop := x86.Nop5[:]
	once := (h.sc.Text(name).At+arch.Addr(at))%8 <= 3 && h.sc.Machine.Fetch != fetch.Mixing
	if h.one(3) {
		h.op(act.ExpectText, name, at, hex(nop...))
	}
	data := ""
	if h.one(3) {
		data = fmt.Sprint("saved", len(h.sc.Datas))
		h.sc.Datas = append(h.sc.Datas, scenario.Data{Name: data, At: noteAt + arch.Addr(0x1000*len(h.sc.Datas)),
			Bytes: make([]byte, len(nop))})
		h.op(act.Save, name, at, func(op *scenario.Op) { op.Targets = []string{data} })
	}
	if once && h.one(2) {
		how := by(8)
		if h.one(2) {
			how = func(op *scenario.Op) { op.Old = nop }
		}
		h.op(act.Write, name, at, to(scenario.FormJump, goal, 0), how)
		h.sync()
		back := hex(nop...)
		if data != "" {
			back = to(scenario.FormSaved, data, 0)
		}
		h.op(act.Write, name, at, back, by(8))
		h.sync()
		return
	}
	retry := func(op *scenario.Op) { op.On = true }
	on, off := goes(goal, 0), goes(name, at+len(nop))
	if h.one(3) && h.sc.Machine.Patch == era.PatchBreakpoint { // so no interrupt of its CPU may run the text
		on, off, h.spins, h.apart, h.outside = retry, retry, true, true, true
	}
	h.behind(name, at, to(scenario.FormDisplacement, goal, 0), x86.OpJump, on)
	h.behind(name, at, hex(nop[1:]...), nop[0], off)
	if h.one(3) {
		h.op(act.OnBreakpoint, name, at)
	}
}

// code adds memory for code.
func (h *hand) code(name string, b []byte) string {
	code := append(bytes.Clone(b), bytes.Repeat([]byte{x86.Int3}, handCode-len(b))...)
	h.sc.Texts = append(h.sc.Texts, scenario.Text{Name: name, At: handsAt + arch.Addr(len(h.sc.Texts))*scenario.Page,
		Code: code, Own: true, Mapped: true})
	return name
}

// image stores a jump to memory for code, takes it back, gives the memory back when no task comes back there, takes
// it again, and writes it.
func (h *hand) image(name string) {
	at := h.sites(name, 1)[0]
	b := []byte{0xb8, byte(h.rand.N(100)), 0, 0, 0, 0xc3}
	t := h.code(name+"image", b)
	h.jumps(name, at, t)
	h.apart, h.outside = true, true
	stacks := func(op *scenario.Op) { op.On = true }
	free := scenario.Op{Kind: []*scenario.Operation{act.Free, act.Unmap}[h.rand.N(2)], Target: t}
	how := h.rand.N(4)
	if how == 2 && h.safe { // two that wait for each other's safepoint hang
		how = 3
	}
	switch h.stops = how < 2; how {
	case 0:
		h.op(act.WaitOutside, t, 0, sized(handCode), stacks)
		h.ops = append(h.ops, free)
	case 1:
		h.ops = append(h.ops, scenario.Op{Kind: act.StopOutside, Target: t, On: true,
			Hand: scenario.Hand{Size: handCode}}, free, scenario.Op{Kind: act.Resume})
	case 2:
		h.safe = true
		h.ops = append(h.ops, scenario.Op{Kind: act.Wait, Hand: scenario.Hand{Awaited: scenario.AwaitSafepoints}}, free)
	case 3:
		h.ops = append(h.ops, scenario.Op{Kind: act.Wait, Hand: scenario.Hand{Awaited: scenario.AwaitTasks}}, free)
	}
	h.op(act.Map, t, 0)
	h.op(act.Write, t, 0, hex(b...))
	h.sync()
}

// moved stores a jump over several instructions while the other CPUs are stopped. The tasks that stand between them
// are moved to a copy, from which they come back.
func (h *hand) moved(name string) {
	n := 0
	h.text(name, func(f *function) {
		for n < x86.JumpLen {
			f.plainOf(1 + h.rand.N(4))
			n = len(f.code)
		}
		f.plainOf(1 + h.rand.N(3))
		f.put(0xc3)
	})
	code := h.sc.Text(name).Code
	t := h.code(name+"copy", code[:n])
	h.stops, h.apart, h.outside = true, true, true
	h.op(act.Write, t, n, to(scenario.FormJump, name, n))
	h.sync()
	move := func(from, into string, all bool) {
		for _, b := range Boundaries(h.sc, name) {
			if b <= n && (all || b > 0 && b < n) {
				h.ops = append(h.ops, scenario.Op{Kind: act.Move, Target: from, Offset: b, Targets: []string{into},
					Hand: scenario.Hand{Into: b}})
			}
		}
		// under FRED the end of the interrupt does not serialise
		h.ops = append(h.ops, scenario.Op{Kind: act.SyncCore}, scenario.Op{Kind: act.Resume})
	}
	stopped := func(op scenario.Op) { h.ops = append(h.ops, scenario.Op{Kind: act.Stop}, op) }
	stopped(scenario.Op{Kind: act.Write, Target: name, Targets: []string{t},
		Hand: scenario.Hand{Form: scenario.FormJump}})
	move(name, t, false)
	stopped(scenario.Op{Kind: act.Write, Target: name, Bytes: bytes.Clone(code[:x86.JumpLen])})
	move(t, name, true)
}

// guarded stores another immediate, byte by byte, while the page can't be executed. What faults there waits, or runs
// another function.
func (h *hand) guarded(name string) {
	t := h.code(name+"page", []byte{0xb8, 1, 0, 0, 0, 0xc3}) // mov $n,%eax; ret
	h.text(name, func(f *function) {
		f.plain()
		f.relative(h.sc.Text(t).At, x86.OpJump)
	})
	on := func(op *scenario.Op) { op.On = true }
	if h.apart, h.outside = true, true; h.one(2) {
		h.op(act.OnFault, t, 0, goes(h.to(name+"instead"), 0))
	} else {
		h.spins = true
		h.op(act.OnFault, t, 0, on)
	}
	for range 1 + h.rand.N(2) {
		h.op(act.Protect, t, 0)
		h.op(act.Write, t, 1, hex(byte(h.rand.N(256)), byte(h.rand.N(256)), 1), by(h.rand.N(2)))
		h.sync()
		if h.one(2) {
			h.op(act.Unprotect, t, 0)
		} else {
			h.op(act.Protect, t, 0, on)
		}
	}
}

// whole stores 4 aligned bytes at once.
func (h *hand) whole(name string, at int, set func(op *scenario.Op)) {
	if h.aliased(name) {
		h.compiled(func(c *function) { c.store(h.alias+arch.Addr(at), h.bytes(name, at, set)) })
		return
	}
	h.op(act.Write, name, at, set, by(4))
}

// number stores another immediate, or part of one, within 4 aligned bytes.
func (h *hand) number(name string) {
	at := 0
	h.text(name, func(f *function) {
		for (f.at+arch.Addr(len(f.code))+1)%4 != 0 {
			f.put(0x90)
		}
		at = len(f.code) + 1
		f.put(0xb8, 1, 1, 1, 1) // mov $n,%eax
		f.put(0xc3)
	})
	for range 1 + h.rand.N(2) {
		h.whole(name, at, hex(byte(h.rand.N(256)), byte(h.rand.N(256)), 1, 0))
		if h.one(2) {
			h.sync()
		}
	}
}

// held stores an immediate while the first CPU is stopped, which another patcher may have stopped, too.
func (h *hand) held(name string) {
	h.number(name)
	all := h.ops
	h.ops, h.stops, h.apart = nil, true, true
	for _, op := range all {
		if op.Kind != act.Write { // what waits for all CPUs
			h.ops = append(h.ops, op)
			continue
		}
		h.ops = append(h.ops, scenario.Op{Kind: act.Stop, Hand: scenario.Hand{CPUs: 1}}, op,
			scenario.Op{Kind: act.Resume})
	}
}

// linked stores another displacement of a jump within 4 aligned bytes.
func (h *hand) linked(name string) {
	at := 0
	one, two := h.to(name+"one"), h.to(name+"two")
	h.text(name, func(f *function) {
		for (f.at+arch.Addr(len(f.code))+1)%4 != 0 {
			f.put(0x90)
		}
		at = len(f.code) + 1
		f.relative(h.sc.Text(one).At, x86.OpJump)
	})
	for _, t := range []string{two, one} {
		h.whole(name, at, to(scenario.FormDisplacement, t, 0))
		if h.one(2) {
			h.sync()
		}
	}
}

// read adds what reads the text of a function.
func (h *hand) read(name string) {
	d := fmt.Sprint("read", len(h.sc.Datas))
	h.sc.Datas = append(h.sc.Datas, scenario.Data{Name: d, At: noteAt + arch.Addr(0x1000*len(h.sc.Datas)),
		Bytes: make([]byte, 1+h.rand.N(min(6, len(h.sc.Text(name).Code))))})
	h.calls = append(h.calls, scenario.Op{Kind: act.Save, Target: name, Targets: []string{d}})
}

// handles adds the tasks of the patchers.
func (s *scene) handles() {
	cpus := s.sc.Machine.CPUs
	for i, h := range s.hands {
		s.numbered("hand", i)
		t := scenario.Task{Name: fmt.Sprint("hand", i), CPU: s.rand.N(cpus), Repeat: 1 + s.rand.N(2),
			Ops: h.ops}
		if h.apart || s.one(3) {
			t.CPU = s.sc.Machine.CPUs
			s.sc.Machine.CPUs++
		}
		s.sc.Tasks = append(s.sc.Tasks, t)
	}
	for _, h := range s.hands {
		for i := range h.ops {
			if op := &h.ops[i]; op.CPUs == everyCPU {
				op.CPUs = 1<<s.sc.Machine.CPUs - 1
			}
		}
	}
}
