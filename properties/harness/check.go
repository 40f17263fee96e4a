package harness

import (
	"fmt"

	"kpsim/properties/scenario"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/isa"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
)

// want is what the scenario says that a check of a task finds.
type want struct{ check, value uint64 }

// word is how much memory is compared at once: what fits in an event.
const word = 8

// prepareChecks numbers the checks of the task's operations. A task that
// repeats its operations makes the same checks again.
func (p *program) prepareChecks() {
	n := 0
	for i := range p.ops {
		p.checks = append(p.checks, n)
		op := &p.ops[i]
		add := func(what int, value uint64) {
			p.r.wants = append(p.r.wants, want{smpev.Check(uint64(p.task.ID), n, what), value})
			n++
		}
		switch {
		case op.Kind == scenario.OpCall && op.Checked:
			add(smpev.CheckResult, op.Returns)
		case op.Checked:
			add(smpev.CheckErrno, op.Returns)
		case op.Kind == scenario.OpExpect:
			for b := op.Bytes; len(b) > 0; b = b[min(word, len(b)):] {
				add(smpev.CheckMemory, littleEndian(b[:min(word, len(b))]))
			}
		}
	}
}

func littleEndian(b []byte) (v uint64) {
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// expect reads the memory that operation i is about, as it is now.
func (p *program) expect(x *smp.Ctx, i int) {
	op := &p.ops[i]
	at := p.r.data(op.Target, x.CPU()) + isa.Addr(op.Offset)
	x.Step("expect", i)
	for off, n := 0, 0; off < len(op.Bytes); off, n = off+word, n+1 {
		v := uint64(0)
		for k := range min(word, len(op.Bytes)-off) {
			b, _ := x.Memory().Load(at+isa.Addr(off+k), 1)
			v |= b << (8 * k)
		}
		p.got(x, i, n, smpev.CheckMemory, v, uint64(at)+uint64(off))
	}
}

// got tells what check n of operation i has found. A twin, which no monitor
// watches, compares by itself: there it is the scenario that is wrong, or the
// code, or the processor that is simulated.
func (p *program) got(x *smp.Ctx, i, n, what int, value, at uint64) {
	check := smpev.Check(uint64(p.task.ID), p.checks[i]+n, what)
	p.came = sim.Mix(p.came ^ value)
	x.Emit(smpev.Got, check, value, at)
	if !p.r.twin || p.r.wrong != nil {
		return
	}
	for _, w := range p.r.wants {
		if w.check == check && w.value != value {
			p.r.wrong = fmt.Errorf("task %s, ops[%d]: %s gives %#x, the scenario says %#x: correct one of them", p.task.Name, i, p.names(i, n), value, w.value)
		}
	}
}

// names says what a check looks at.
func (p *program) names(i, n int) string {
	op := &p.ops[i]
	if op.Kind == scenario.OpExpect {
		return fmt.Sprintf("%s+%#x", op.Target, op.Offset+n*word)
	}
	return fmt.Sprintf("%v(%s)", op.Kind, op.Target)
}

// data returns where a block of data lies, or a CPU's copy of it.
func (r *Rig) data(name string, cpu int) isa.Addr {
	for i := range r.Scenario.Datas {
		if d := &r.Scenario.Datas[i]; d.Name == name {
			return copyAt(d, cpu)
		}
	}
	return 0
}

// copyAt returns where a CPU finds a block of data.
func copyAt(d *scenario.Data, cpu int) isa.Addr {
	if d.PerCPU {
		return kernel.PerCPUOffset(cpu) + d.At
	}
	return d.At
}

// catchMissing refuses a run that calls or reads a symbol that nobody defines,
// or reads it through gs. Nothing is mapped there, so that it is a page fault.
func (r *Rig) catchMissing() {
	r.Kernel.Traps.Unhandled = func(x *smp.Ctx, regs *isa.Regs, trapnr uint8) {
		if trapnr != smpev.VecPF {
			x.Oops()
			return
		}
		fault, offset := x.Fault(), kernel.PerCPUOffset(x.CPU())
		if kernel.IsCurrent(x.CPU(), fault) {
			x.Refuse(regs.IP, `reads the task that is current, and there is no task_struct: define where it is above elf(), `+
				`percpu("const_pcpu_hot", …) or, for other kernels than 6.6 to 6.14, percpu("pcpu_hot", …) or percpu("current_task", …)`)
			return
		}
		if name := r.missingAt(fault - offset); name != "" && fault != regs.IP {
			x.Refuse(regs.IP, fmt.Sprintf("reads or writes this CPU's %s, which nobody defines: define it above elf(), percpu(%q, …)", name, name))
			return
		}
		name := r.missingAt(fault)
		if name == "" {
			x.Oops()
			return
		}
		at, does := regs.IP, "reads or writes"
		if regs.IP == fault {
			does = "somebody jumps to"
			if back, _ := x.Memory().Load(regs.SP(), 8); r.inText(isa.Addr(back)) {
				at, does = isa.Addr(back), "has called"
			}
		}
		x.Refuse(at, fmt.Sprintf("%s %s, which nobody defines: define it above elf(), stub(%q) or data(%q, …)", does, name, name, name))
	}
}

// missingAt returns the missing symbol at an address, "" if there is none.
func (r *Rig) missingAt(a isa.Addr) string {
	for i := range r.Scenario.Missing {
		if s := &r.Scenario.Missing[i]; a >= s.At && a < s.At+isa.Addr(s.Size) {
			return s.Name
		}
	}
	return ""
}

// inText reports whether a function of the scenario holds an address.
func (r *Rig) inText(a isa.Addr) bool {
	for i := range r.Scenario.Texts {
		if t := &r.Scenario.Texts[i]; a >= t.At && a < t.At+isa.Addr(len(t.Code)) {
			return true
		}
	}
	return false
}
