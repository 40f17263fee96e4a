package run

import (
	"slices"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
)

// Next implements Explainable.
func (x *X86) Next(m *smp.Machine, cpu int) Instr {
	name, off, text := m.Names().Where(sim.Mover(cpu))
	if !text || name != threadName(cpu) {
		return Instr{}
	}
	i := slices.Index(x.code[cpu].Starts, off)
	if i < 0 || i == len(x.t.Threads[cpu].Instrs) { // or the return at the end
		return Instr{}
	}
	for x.t.Threads[cpu].Instrs[i].Bare { // a label takes no room
		if i++; i == len(x.t.Threads[cpu].Instrs) {
			return Instr{}
		}
	}
	in := &x.t.Threads[cpu].Instrs[i]
	return Instr{in.Text, in.Stores(), x.t.Writes(cpu, i)}
}

// Note implements Explainable: values say all.
func (*X86) Note(int) string { return "" }

// Values implements Explainable.
func (x *X86) Values(m *smp.Machine) []Value {
	var all []Value
	for i := range x.t.Threads {
		regs, kernel := m.Inspect().Regs(i)
		if x.done[i] {
			regs = x.left[i]
		} else if kernel { // it hasn't begun, or is about to end
			regs = x.last[i]
		} else {
			x.last[i] = regs
		}
		for n := range x.t.Threads[i].Init {
			if arch.Reg(n) != m.Arch().SP {
				r := x.t.Register(i, n)
				all = append(all, Value{r.Name, x.t.Show(&r, regs.R[n])})
			}
		}
	}
	for i := range x.t.Locations {
		for k := range x.t.Locations[i].Count {
			r := x.t.Element(i, k)
			v, _ := m.Memory().Load(arch.Addr(x.t.Address(i, k)), r.Size)
			all = append(all, Value{r.Name, x.t.Show(&r, v)})
		}
	}
	return all
}
