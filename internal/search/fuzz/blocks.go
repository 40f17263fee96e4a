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
	Func string
	Addr arch.Addr
	Why  string // no program is expected to come there; "" if one is

	next []arch.Addr // where it goes on, in the function
}

// blocksOf lists the basic blocks of a kernel's probes, by function and address.
func blocksOf(k *linux.Kernel) ([]Block, error) {
	c, err := closure.Of(k.Image, "kprobes")
	if err != nil {
		return nil, err
	}
	var list []Block
	for i := range c.Inside {
		of := ofFunction(c, &c.Inside[i])
		excuse(of)
		list = append(list, of...)
	}
	return list, nil
}

// warns is why no program comes to a block with ud2 in it, which is how BUG and WARN say that
// something is broken, nor to one that only leads there, or only comes from there.
const warns = "it says that something is broken"

// excuse says of a function's blocks why no program comes to them.
func excuse(list []Block) {
	if why := excused[list[0].Func]; why != "" {
		for i := range list {
			list[i].Why = why
		}
		return
	}
	at := make(map[arch.Addr]int)
	for i := range list {
		at[list[i].Addr] = i
	}
	for more := true; more; {
		more = false
		from, broken := make([]int, len(list)), make([]int, len(list)) // where a block is come from; of these, where something is broken
		for i := range list {
			b, leads := &list[i], 0
			for _, a := range b.next {
				j := at[a]
				if from[j]++; b.Why != "" {
					broken[j]++
				}
				if list[j].Why != "" {
					leads++
				}
			}
			if b.Why == "" && leads > 0 && leads == len(b.next) {
				b.Why, more = warns, true
			}
		}
		for i := 1; i < len(list); i++ { // a function begins with the first
			if list[i].Why == "" && from[i] > 0 && from[i] == broken[i] {
				list[i].Why, more = warns, true
			}
		}
	}
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
		in := &code[i]
		if starts[in.Addr] {
			list = append(list, Block{Func: f.Name, Addr: in.Addr})
		}
		if len(list) == 0 {
			continue
		}
		b, next := &list[len(list)-1], in.Addr+arch.Addr(in.Len)
		flow := in.Flow()
		if flow == arch.FlowUndefined {
			b.Why = warns
		}
		if t, ok := in.Target(); ok && within(t) && (flow == arch.FlowCond || flow == arch.FlowJump) {
			b.next = append(b.next, t)
		}
		if falls := flow != arch.FlowJump && flow != arch.FlowRet && flow != arch.FlowIndirectJump; falls && starts[next] {
			b.next = append(b.next, next)
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
