package linux

import (
	"fmt"
	"strings"

	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/kapi"
)

// What the engine calls outside itself, and has no service, ends the run with its name:
// it would run on through a kernel that was never booted.

// refuseRest leads each function that the engine calls, and that has no service, to a
// gate that ends the run. taken are the addresses that lead elsewhere.
func (k *Kernel) refuseRest(taken map[arch.Addr]bool) error {
	for i := range k.Closure.Boundary {
		callee := &k.Closure.Boundary[i]
		at := arch.Addr(callee.Addr)
		if taken[at] {
			continue
		}
		taken[at] = true
		k.services = append(k.services, &service{name: callee.Name, served: new(served)})
		if err := k.jump(at, gateAt(len(k.services)-1)); err != nil {
			return fmt.Errorf("%s: %w", callee.Name, err)
		}
	}
	return nil
}

// unserved ends the run at a call that has no service.
func (e *Linux) unserved(x kapi.Context, name string) {
	e.refuse(x, fmt.Sprintf("the engine calls %s, which isn't done here: %s", name, e.chain(x)))
}

// Of a chain of calls so many are told, and so many words of the stack are searched for
// each.
const (
	chainMost = 8
	chainNear = 128
)

// chain says which calls of the kernel's functions are open, the innermost first: each
// return address follows a direct call of the function before. It ends at one that was
// called through a pointer or jumped to.
func (e *Linux) chain(x kapi.Context) string {
	var list []string
	callee := arch.Addr(0) // 0: the return address is the next word
	at := target.Arch.StackPointer(x.Regs())
	for range chainMost {
		word, found := uint64(0), false
		for range chainNear {
			v, ok := x.Memory().Load(at, 8)
			if !ok {
				break
			}
			at += 8
			to, direct := e.k.calls(v)
			if found = callee == 0 && e.k.isCode(v) || direct && to == callee; found {
				word = v
				break
			}
		}
		name, off, ok := e.k.Symbol(arch.Addr(word - 1)) // a call may be the last instruction
		if !found || !ok {
			break
		}
		list = append(list, fmt.Sprintf("%s+%#x", name, off+1))
		callee = arch.Addr(word) - arch.Addr(off+1)
	}
	if len(list) == 0 {
		return "from outside the kernel"
	}
	return strings.Join(list, " < ")
}

// isCode reports whether an address lies in a function, of boot's too.
func (k *Kernel) isCode(a uint64) bool {
	s, ok := k.Image.Lookup(a)
	return ok && s.Func
}
