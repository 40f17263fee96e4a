package linux

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/linux/linuxev"
	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// A call out of the engine goes to a gate, which runs the service for the function. If there is
// none, the run ends and the function is named. Otherwise the run would go on in a kernel that was never booted.

// refuseRest redirects each function that the engine calls, and that has no service, to a
// gate that ends the run. taken lists the addresses already redirected elsewhere.
func (k *Kernel) refuseRest(taken map[arch.Addr]bool) error {
	for i := range k.Closure.Boundary {
		callee := &k.Closure.Boundary[i]
		at := arch.Addr(callee.Addr)
		if taken[at] || taken[k.replacement(at)] { // the function that objects put in its place may be served
			continue
		}
		taken[at] = true
		k.services = append(k.services, &service{name: callee.Name, served: new(served)})
		if err := k.jump(at, gateAt(k, len(k.services)-1)); err != nil {
			return fmt.Errorf("%s: %w", callee.Name, err)
		}
	}
	return nil
}

// refusePointed makes every other function of the kernel call a gate that ends the run,
// because the targets of calls through pointers aren't known in advance.
func (k *Kernel) refusePointed(taken map[arch.Addr]bool) error {
	gate := gateAt(k, len(k.services))
	k.services = append(k.services, &service{name: "a function that is called through a pointer", served: new(served),
		pointed: true})
	runs := k.tabled()
	all := k.Image.Symbols()
	for i, s := range all {
		at := arch.Addr(s.Addr)
		if !s.Func || taken[at] || runs[at] || !k.text.has(at) || i > 0 && all[i-1].Addr == s.Addr ||
			k.Closure.Function(s.Addr) != nil {
			continue
		}
		next := i + 1
		for next < len(all) && all[next].Addr == s.Addr {
			next++
		}
		if next < len(all) && all[next].Addr < s.Addr+uint64(k.arch.BranchLen) ||
			slices.ContainsFunc(all[i:next], thunk) || k.Replaced(at) {
			continue
		}
		if err := k.patchCall(at, gate); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

// thunk reports whether the engine's code calls or returns through this function, or copies it.
func thunk(s vmlinux.Symbol) bool {
	name := strings.TrimPrefix(s.Name, "__pi_")
	return strings.HasPrefix(name, "optprobe_template_") || name == "__fentry__" ||
		strings.Contains(name, "__x86_indirect_") ||
		strings.Contains(name, "__x86_return_") ||
		strings.HasSuffix(name, "return_thunk") || strings.HasPrefix(name, "__SCT__")
}

// calledFrom names tables of functions, which are called by what a table says and run unchanged: x86's operations of
// a hypervisor's guest, and arm64's checks of the conditions of branches. None of them calls another function, but some
// of the former keep the registers of one (saving).
var calledFrom = [...]string{"pv_ops", "aarch32_opcode_cond_checks"}

// saving begins the names of functions that keep all registers of a function (PV_CALLEE_SAVE_REGS_THUNK).
const saving = "__raw_callee_save_"

// tabled returns the functions of those tables.
func (k *Kernel) tabled() map[arch.Addr]bool {
	list := make(map[arch.Addr]bool)
	for _, name := range calledFrom {
		s, _ := k.Image.Symbol(name)
		for b := k.bytes(arch.Addr(s.Addr), int(s.Size)); len(b) >= k.word; b = b[k.word:] {
			at := k.Image.Class().Get(b)
			list[arch.Addr(at)] = true
			if f, ok := k.Image.At(at); ok {
				if of, saves := strings.CutPrefix(f.Name, saving); saves {
					list[k.at(of)] = true
				}
			}
		}
	}
	return list
}

// openCalls runs services, and records the arguments of open calls.
type openCalls struct {
	*env   `state:"boot"`
	calls  [256][]args // by task: arguments of open calls of watched functions
	served [256][]args // by task: arguments of open calls of services
}

// renew removes the calls that a run has left open.
func (o *openCalls) renew() {
	for i := range o.calls {
		o.calls[i], o.served[i] = o.calls[i][:0], o.served[i][:0]
	}
}

// serve runs a service that text has called.
func (o *openCalls) serve(x kapi.Context, regs *arch.Regs, s *service) {
	served := &o.served[x.Task()]
	depth := len(*served)
	*served = append(roomy(*served), args{})
	a := &(*served)[depth]
	o.arguments(x, regs, s.varied, a)
	if s.watch != nil {
		o.noted(x, s, a)
		*served = (*served)[:depth]
		return
	}
	o.d.Tell(x, linuxev.Call, uint64(x.Regs().IP), uint64(o.k.arch.StackPointer(x.Regs())), a[0])
	if s.do == nil {
		*served = (*served)[:depth]
		o.unserved(x, s)
		return
	}
	if s.sleeps && o.d.Guest.Busy(x) {
		o.d.Guest.Why(x, fmt.Sprintf("%s calls %s", o.named(o.caller(x)), s.name))
		x.Emit(smpev.MightSleep, 1, 0, 0)
	}
	if s.keeps {
		s.do(o.e, x, a)
		*served = (*served)[:depth]
		return
	}
	o.scribble(x)
	v := s.do(o.e, x, a)
	*served = (*served)[:depth]
	r := x.Regs()
	for _, c := range o.k.clobbered {
		r.R[c] = o.k.poison
	}
	if o.k.port.extends && v>>31 == 1 {
		v = uint64(int64(int32(v)))
	}
	r.R[o.k.arch.Result] = o.k.truncated(v)
}

// deep is how many handlers and services of a task may be open before their list is
// reallocated. Outer ones keep pointers to their elements.
const deep = 16

// roomy returns the list, allocated with spare capacity if it has none.
func roomy[T any](list []T) []T {
	if cap(list) == 0 {
		return make([]T, 0, deep)
	}
	return list
}

// noted notes the beginning or the end of a call of a watched function. The end gets the
// arguments that the call began with.
func (o *openCalls) noted(x kapi.Context, s *service, a *args) {
	open := &o.calls[x.Task()]
	if !s.ends {
		*open = append(*open, *a)
		if s.watch.before != nil {
			s.watch.before(o.e, x, a)
		}
		return
	}
	n := len(*open) - 1
	if n < 0 {
		return
	}
	*a = (*open)[n]
	*open = (*open)[:n]
	if s.watch.after != nil {
		s.watch.after(o.e, x, a)
	}
}

// unserved ends the run at a call that has no service.
func (e *env) unserved(x kapi.Context, s *service) {
	name, how := s.name, "calls"
	if s.pointed {
		how = "calls through a pointer"
		at := e.k.port.entered(e, x)
		name, _, _ = e.k.Symbol(at)
		x.Regs().IP = at
		x.Regs().R[e.k.arch.SP] += uint64(e.k.arch.Pushed)
	}
	e.refuse(x, fmt.Sprintf("the engine %s %s, which isn't done here: %s", how, name, e.chain(x)))
}

// Bounds of a chain of calls: the most calls reported, and the most words of the stack
// searched for each.
const (
	chainMost = 8
	chainNear = 128
)

// chain describes the open calls of the kernel's functions, the innermost first. A word is
// taken for a return address if it follows a direct call of the function before; if no such
// word is near, one that follows a call through a pointer is taken. The chain ends where
// neither is near, as before a jump to a function.
func (e *env) chain(x kapi.Context) string {
	var list []string
	callee := arch.Addr(0) // 0: the return address is the next word
	at := e.k.arch.StackPointer(x.Regs())
	for i := range chainMost {
		word, next := e.returnTo(x, at, callee)
		if i == 0 && e.k.arch.Pushed == 0 {
			word, next = uint64(e.caller(x)), at
		}
		name, off, ok := e.k.Symbol(arch.Addr(word - 1)) // a call may be the last instruction
		if word == 0 || !ok {
			break
		}
		list = append(list, fmt.Sprintf("%s+%#x", name, off+1))
		at, callee = next, arch.Addr(word)-arch.Addr(off+1)
	}
	if len(list) == 0 {
		return "from outside the kernel"
	}
	return strings.Join(list, " < ")
}

// returnTo returns the next return address on the stack that leads to a caller of the
// function, and where the stack goes on. word is 0 if none is near.
func (e *env) returnTo(x kapi.Context, at, callee arch.Addr) (word uint64, next arch.Addr) {
	for range chainNear {
		v, ok := x.Memory().Load(at, e.k.word)
		if !ok {
			break
		}
		at += e.k.words(1)
		switch to, direct := e.k.port.calls(e.k, v); {
		case callee == 0 && e.k.isCode(v), direct && to == callee:
			return v, at
		case direct && word == 0 && e.k.Closure.Function(v-1) != nil:
			if s, ok := e.k.Image.Lookup(uint64(to)); ok && thunk(s) {
				word, next = v, at
			}
		}
	}
	return word, next
}

// isCode reports whether an address lies in a function, including functions of .init.text.
func (k *Kernel) isCode(a uint64) bool {
	s, ok := k.Image.Lookup(a)
	return ok && s.Func
}
