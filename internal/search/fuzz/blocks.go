package fuzz

import (
	"fmt"
	"slices"

	"kpsim/linux"
	"kpsim/linux/closure"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// A Block is a basic block of a kernel's functions: instructions of which the first alone is
// jumped to, and the last alone jumps.
type Block struct {
	Func  string
	Addr  arch.Addr
	Traps bool // it begins with what kills or warns: ud2
}

// blocksOf lists the basic blocks of a kernel's probes, by function and address.
func blocksOf(k *linux.Kernel) ([]Block, error) {
	c, err := closure.Of(k.Image, "kprobes")
	if err != nil {
		return nil, err
	}
	var list []Block
	for i := range c.Inside {
		list = append(list, ofFunction(c, &c.Inside[i])...)
	}
	return list, nil
}

// ofFunction lists the blocks of a function. What follows a return or a jump, and nothing
// jumps to, is padding, if it is nothing else.
func ofFunction(c *closure.Closure, f *closure.Function) (list []Block) {
	starts := map[arch.Addr]bool{arch.Addr(f.Addr): true}
	var code []x86.Inst
	c.Decode(f, func(in *x86.Inst) { code = append(code, *in) })
	within := func(a arch.Addr) bool { return uint64(a) >= f.Addr && uint64(a) < f.Addr+f.Size }
	for i := range code {
		in := &code[i]
		next := in.Addr + arch.Addr(in.Len)
		switch in.Flow() {
		case arch.FlowCond:
			starts[next] = true
			if t, ok := in.Target(); ok && within(t) {
				starts[t] = true
			}
		case arch.FlowJump:
			if t, ok := in.Target(); ok && within(t) {
				starts[t] = true
			}
		}
	}
	for i := range code {
		if in := &code[i]; starts[in.Addr] {
			list = append(list, Block{f.Name, in.Addr, in.Flow() == arch.FlowUndefined})
		}
	}
	return list
}

// Place says where a block begins: in the kernel's source, if it has that information, else
// in its function.
func Place(k *linux.Kernel, b *Block) string {
	if frames := k.Image.Line(uint64(b.Addr)); len(frames) > 0 {
		return fmt.Sprintf("%s:%d", frames[0].File, frames[0].Line)
	}
	at, _ := k.Image.Symbol(b.Func)
	return fmt.Sprintf("+%#x", uint64(b.Addr)-at.Addr)
}

// reach finds the blocks that a program reaches first.
type reach struct {
	blocks  []Block
	reached []bool // by programs of batches before; only read while a batch runs
}

// of adds the numbers of the blocks that a machine has run, and no batch before.
func (r *reach) of(m *smp.Machine, list []uint32) []uint32 {
	for i := range r.blocks {
		if !r.reached[i] && m.Memory().Executed(r.blocks[i].Addr) {
			list = append(list, uint32(i))
		}
	}
	return slices.Clip(list)
}
