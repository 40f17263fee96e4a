package fuzz

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/linux"
	"kpsim/linux/closure"
	"kpsim/smp"
	"kpsim/smp/arch"
)

// A Block is a basic block of a kernel's functions: only its first instruction is a jump target,
// and only its last one jumps.
type Block struct {
	Func string
	Addr arch.Addr
	Why  string // why no program is expected to reach it; "" if one is

	next []arch.Addr // successors within the function
	text string      // whether the previous block falls through, and the instructions; matched by excuses
}

// blocksOf lists the basic blocks of a kernel's kprobes code, by function and address.
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
	lead(list)
	return list, nil
}

// lead excuses blocks that jump to the cold part (.cold) of their function if that part only
// reports a fault.
func lead(list []Block) {
	broken := make(map[string]bool) // names of such parts
	for i := range list {
		if strings.HasSuffix(list[i].Func, ".cold") && (i == 0 || list[i-1].Func != list[i].Func) &&
			list[i].Why == warns {
			broken["<"+list[i].Func+">"] = true
		}
	}
	for i := 0; i < len(list); {
		n := i
		for ; n < len(list) && list[n].Func == list[i].Func; n++ {
			b := &list[n]
			for _, word := range strings.Fields(b.text) {
				if b.Why == "" && broken[strings.Trim(word, ";")] {
					b.Why = warns
				}
			}
		}
		spread(list[i:n])
		i = n
	}
}

// warns excuses a block with ud2, the instruction of BUG and WARN, and blocks that only lead to
// one or are only reached from one.
const warns = "it says that something is broken"

// excuse sets the reason for those blocks of a function that no program reaches.
func excuse(list []Block) {
	why := excused[list[0].Func]
	if why == "" && linux.Served(list[0].Func) {
		why = served
	}
	if why != "" {
		for i := range list {
			list[i].Why = why
		}
		return
	}
	for i := range list {
		if b := &list[i]; b.Why == "" {
			b.Why = whyNot(b)
		}
	}
	spread(list)
}

// spread excuses the blocks of a function that only lead to excused blocks or are only reached
// from them.
func spread(list []Block) {
	at := make(map[arch.Addr]int)
	for i := range list {
		at[list[i].Addr] = i
	}
	for more := true; more; {
		more = false
		// number of predecessors of a block; of these, the excused ones
		from, broken := make([]int, len(list)), make([]int, len(list))
		whys := make([]string, len(list)) // the reason of one excused predecessor
		for i := range list {
			b, leads := &list[i], 0
			for _, a := range b.next {
				j := at[a]
				if from[j]++; b.Why != "" {
					broken[j]++
					whys[j] = b.Why
				}
				if list[j].Why != "" {
					leads++
				}
			}
			if b.Why == "" && leads > 0 && leads == len(b.next) {
				b.Why, more = list[at[b.next[0]]].Why, true
			}
		}
		for i := 1; i < len(list); i++ { // block 0 is the function's entry
			if list[i].Why == "" && from[i] > 0 && from[i] == broken[i] {
				list[i].Why, more = whys[i], true
			}
		}
	}
}

// ofFunction lists the blocks of a function. Code after a return or jump that is no jump target
// is treated as padding.
func ofFunction(c *closure.Closure, f *closure.Function) (list []Block) {
	starts := map[arch.Addr]bool{arch.Addr(f.Addr): true}
	var code []arch.Inst
	c.Decode(f, func(in arch.Inst) { code = append(code, in) })
	within := func(a arch.Addr) bool { return uint64(a) >= f.Addr && uint64(a) < f.Addr+f.Size }
	for i := range code {
		in := code[i]
		next := in.Next()
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
	last, falls := "", false // last: callee since the last block began; falls: whether that block falls through
	for i := range code {
		in := code[i]
		if starts[in.At()] {
			b := Block{Func: f.Name, Addr: in.At(), text: "at; "}
			if falls {
				b.text = "after" + last + "; "
			}
			list = append(list, b)
			last, falls = "", true
		}
		if !falls {
			continue // padding, or a target of fault handling
		}
		if len(list) == 0 {
			continue
		}
		b, next := &list[len(list)-1], in.Next()
		flow := in.Flow()
		if flow == arch.FlowUndefined {
			b.Why = warns
		}
		b.text += in.String()
		if s, _ := c.Target(f, in); s.Name != "" && s.Name != f.Name {
			last = " [" + s.Name + "]"
			b.text += " <" + s.Name + ">"
		}
		b.text += "; "
		if t, ok := in.Target(); ok && within(t) && (flow == arch.FlowCond || flow == arch.FlowJump) {
			b.next = append(b.next, t)
		}
		if falls = flow != arch.FlowJump && flow != arch.FlowRet && flow != arch.FlowIndirectJump; falls &&
			starts[next] {
			b.next = append(b.next, next)
		}
	}
	return list
}

// Place says where a block begins: in the kernel's source if that information is available,
// otherwise as an offset in its function.
func Place(k *linux.Kernel, b *Block) string {
	if frames := k.Image.Line(uint64(b.Addr)); len(frames) > 0 {
		return fmt.Sprintf("%s:%d", frames[0].File, frames[0].Line)
	}
	at, _ := k.Image.Symbol(b.Func)
	return fmt.Sprintf("+%#x", uint64(b.Addr)-at.Addr)
}

// A reach finds the blocks that a program reaches first.
type reach struct {
	blocks  []Block
	reached []bool // reached by programs of earlier batches; read-only while a batch runs
}

// of appends the numbers of the blocks that a machine has run and no earlier batch has.
func (r *reach) of(m *smp.Machine, list []uint32) []uint32 {
	for i := range r.blocks {
		if !r.reached[i] && m.Memory().Executed(r.blocks[i].Addr) {
			list = append(list, uint32(i))
		}
	}
	return slices.Clip(list)
}
