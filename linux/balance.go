package linux

import (
	"fmt"

	"kpsim/linux/linuxev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

// The state of a CPU that a function of the kernel must leave as it found it.

// A balance is that state at one time.
type balance struct {
	preemption uint64 // the preemption count, without the bit for a needed reschedule
	current    uint64 // current_kprobe: the probe whose handlers run; 0: none
	irqs       uint64 // whether interrupts are on
	sections   uint64 // the number of RCU sections that the task is in
}

// status reads how far the CPU is with its current probe (kprobe_status).
func (e *env) status(cpu int) uint64 {
	if e.k.perCPU.ctlblk == 0 {
		return 0
	}
	return e.look(e.d.Guest.PerCPU(cpu, e.k.perCPU.ctlblk), e.k.fields.status)
}

// weigh reads the balance of the CPU that x runs on. No step depends on it.
func (e *env) weigh(x kapi.Context) balance {
	b := e.weighCPU(x.CPU(), x.Task())
	b.irqs = x.Regs().Flags & arch.IRQ
	b.sections = uint64(e.d.RCU.Sections(x))
	return b
}

// weighCPU reads what the kernel keeps by CPU, and the preemption count of the task that runs there.
func (e *env) weighCPU(cpu int, t kapi.TaskID) (b balance) {
	b.preemption, _ = e.d.Guest.Seen(cpu, e.countAt(cpu, t), 4)
	b.preemption &^= enabled
	if e.k.perCPU.currentKprobe != 0 {
		b.current, _ = e.d.Guest.Seen(cpu, e.d.Guest.PerCPU(cpu, e.k.perCPU.currentKprobe), e.k.word)
	}
	return b
}

// even reports the state that a function didn't restore. The task may have moved to another
// CPU meanwhile; the values compared must be the same there.
func (e *env) even(x kapi.Context, f arch.Addr, was balance) {
	is := e.weigh(x)
	if is == was {
		return
	}
	what, a, b := uint64(linuxev.Preemption), was.preemption, is.preemption
	switch {
	case is.irqs != was.irqs:
		what, a, b = linuxev.Interrupts, was.irqs, is.irqs
	case is.current != was.current:
		what, a, b = linuxev.CurrentProbe, was.current, is.current
	case is.sections != was.sections:
		what, a, b = linuxev.Sections, was.sections, is.sections
	}
	name, _, _ := e.k.Symbol(f)
	e.d.Guest.Why(x, "after "+name)
	x.Emit(linuxev.Uneven, what, a, b)
}

// stepped is even for the handler of a breakpoint. A probe whose instruction runs in a
// slot stays the CPU's current one up to the breakpoint at the end of the slot. There the
// current probe must again be the one from before the first of the two breakpoints. A hit
// within the same probe shows only in the status.
func (t *traps) stepped(x kapi.Context, from, to arch.Addr, was balance, status uint64) {
	open := &t.stepping[x.CPU()]
	if n := len(*open); n > 0 && t.e.memory.inCode(from-t.k.arch.Past) {
		was.current, was.preemption = (*open)[n-1].current, (*open)[n-1].preemption
		*open = (*open)[:n-1]
	}
	is := t.weigh(x)
	if t.e.memory.inCode(to) && (is.current != was.current || is.current != 0 && t.status(x.CPU()) != status) {
		*open = append(*open, was)
		was.current = is.current
		if t.k.symbols.step != 0 { // the kernel counts a step as a section where it isn't preempted
			was.preemption = is.preemption
		}
	}
	t.even(x, t.k.symbols.breakpoint, was)
}

// inCode reports whether an address is in memory that was handed out for slots.
func (m *memory) inCode(a arch.Addr) bool {
	for i := range m.code {
		if m.code[i].has(a) {
			return true
		}
	}
	return false
}

// idle reports whether no work is left: the optimizer's lists are empty, and no
// grace period is awaited.
func (e *Linux) idle() bool {
	for _, c := range e.works.callbacks {
		if c.busy {
			return false
		}
	}
	return e.Settled()
}

// remains reports, when no work is left, what the kernel's tables and the CPUs still hold
// and can't need any more. It reports nothing if tasks have used one struct at the same time.
func (e *Linux) remains(tell func(k traces.Kind, a, b, c uint64)) {
	if !e.idle() {
		return
	}
	for _, p := range e.users.list {
		if p.mixed {
			return // concurrent use of one struct is misuse
		}
	}
	for cpu := range e.d.CPUs {
		switch b := e.weighCPU(cpu, kapi.TaskID(cpu)); {
		case b.preemption != 0:
			e.d.Guest.Why(nil, fmt.Sprintf("of cpu%d", cpu))
			tell(linuxev.Remains, linuxev.Preemption, b.preemption, uint64(cpu))
			return
		case b.current != 0:
			e.d.Guest.Why(nil, fmt.Sprintf("of cpu%d", cpu))
			tell(linuxev.Remains, linuxev.CurrentProbe, b.current, uint64(cpu))
			return
		}
	}
	list := arch.Addr(e.k.fields.kprobe.list.off)
	unused := arch.Addr(0)
	e.points(func(p arch.Addr) {
		if e.aggregate(p) && e.next(p+list) == p+list {
			unused = p
		}
	})
	if unused != 0 {
		tell(linuxev.Remains, linuxev.UnusedPoint, e.look(unused, e.k.fields.kprobe.addr), 0)
		return
	}
	if at := e.patched.calledInVain(); at != 0 {
		tell(linuxev.Remains, linuxev.Traced, uint64(at), 0)
		return
	}
	e.slots(tell)
}

// calledInVain returns a site that has no point but from which ftrace calls the kernel's
// probes, or 0.
func (pa *patched) calledInVain() arch.Addr {
	if pa.d.Sites == nil {
		return 0
	}
	for i := range pa.d.Sites.Sites() {
		at := pa.d.Sites.Record(i).At
		if !pa.calledFrom(at) {
			continue
		}
		probed := false
		pa.points(func(p arch.Addr) { probed = probed || arch.Addr(pa.look(p, pa.k.fields.kprobe.addr)) == at })
		if !probed {
			return at
		}
	}
	return 0
}

// slots reports slots in use that belong to no point of the table, and the reverse.
func (e *Linux) slots(tell func(k traces.Kind, a, b, c uint64)) {
	f := &e.k.fields
	for _, c := range [...]struct {
		name string
		of   func(p arch.Addr) uint64
	}{
		{"kprobe_insn_slots", func(p arch.Addr) uint64 { return e.look(p, f.kprobe.insn) }},
		{"kprobe_optinsn_slots", func(p arch.Addr) uint64 {
			if !e.aggregate(p) {
				return 0
			}
			return e.look(p, f.optimized.detour)
		}},
	} {
		at := e.k.at(c.name)
		if at == 0 || f.slots.pages.size == 0 {
			continue
		}
		needed, used := uint64(0), uint64(0)
		e.points(func(p arch.Addr) { needed += b2u(c.of(p) != 0) })
		head := at + arch.Addr(f.slots.pages.off)
		for n, page := 0, e.next(head); page != head && page != 0 && n < most; n++ {
			used += e.look(page, f.slots.used) - e.look(page, f.slots.dirty)
			page = e.next(page)
		}
		if used != needed {
			e.d.Guest.Why(nil, "of "+c.name)
			tell(linuxev.Remains, linuxev.Slots, used, needed)
			return
		}
	}
}
