package kernelcost

import (
	"kpsim/internal/eval/overhead"
	"kpsim/internal/search/rig"
	"kpsim/kprobes/kpev"
	"kpsim/linux"
	"kpsim/linux/linuxev"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A stretch is a part of a run: a call, or the code between two calls.
type stretch struct {
	overhead.MachineCode
	parts             [Parts]int
	own               int // instructions of the function itself
	text, data, stack map[arch.Addr]bool
}

// A watcher counts the code that a run executes.
type watcher struct {
	r          *rig.Rig
	k          *linux.Kernel
	arch       *arch.Arch
	at         arch.Addr // of the function
	trampoline arch.Addr
	served     map[arch.Addr]int // instructions of functions that are done in Go

	now     *stretch
	part    Part
	calling bool
	counts  bool // the instruction under way
	sp      arch.Addr
	returns []returning

	calls []*stretch
	apis  [2][]*stretch // register and unregister
	rests [2][]*stretch // and the code after each
	after int           // the index of the last one, -1 before
}

// A returning is a call that hasn't returned: the place of its return address, and the address.
type returning struct{ sp, to arch.Addr }

func newWatcher(r *rig.Rig, k *linux.Kernel) *watcher {
	w := &watcher{r: r, k: k, arch: k.Arch(), at: k.Arch().Addr(at), served: make(map[arch.Addr]int), after: -1}
	for _, name := range []string{"arch_rethook_trampoline", "__kretprobe_trampoline"} {
		if s, ok := k.Image.Symbol(name); ok {
			w.trampoline = arch.Addr(s.Addr)
		}
	}
	w.begin()
	return w
}

// begin begins a stretch.
func (w *watcher) begin() *stretch {
	was := w.now
	w.now = &stretch{text: make(map[arch.Addr]bool), data: make(map[arch.Addr]bool), stack: make(map[arch.Addr]bool)}
	w.part = Engine
	return was
}

// rest ends the code between two calls.
func (w *watcher) rest() {
	if s := w.begin(); w.after >= 0 {
		w.rests[w.after] = append(w.rests[w.after], s)
	}
	w.after = -1
}

// kinds of events that it listens to.
var events = []traces.Kind{smpev.Trap, smpev.CallEnd, kpev.ApiEnter, kpev.ApiReturn, kpev.Handler, linuxev.Call}

// Event implements traces.Sink.
func (w *watcher) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case smpev.Trap:
		w.now.Exceptions++
		if e.A == smpev.VecDB {
			w.now.Steps++
		}
		if w.part = Engine; w.isCopy(arch.Addr(e.B)) {
			w.part = Step
		}
	case smpev.CallEnd:
		w.calling = false
		w.calls = append(w.calls, w.begin())
	case kpev.ApiEnter:
		w.rest()
	case kpev.ApiReturn:
		if e.A == kpev.Register || e.A == kpev.Unregister {
			w.after = int(e.A - kpev.Register)
			w.apis[w.after] = append(w.apis[w.after], w.begin())
		}
	case kpev.Handler:
		w.now.Handlers++
	}
	return nil
}

// isCopy reports whether an address is in the memory for copied instructions and detours.
func (w *watcher) isCopy(a arch.Addr) bool { return w.within(a, smp.ExecBase, smp.ExecBase+1<<28) }

// isService reports whether a routine in Go stands at an address that the kernel calls.
func (w *watcher) isService(a arch.Addr) bool { return w.within(a, kapi.GuestGates, smp.DataBase) }

// isEnd reports whether the address is that of a Go routine that has called the kernel.
func (w *watcher) isEnd(a arch.Addr) bool {
	return w.within(a, smp.GateBase, smp.GateBase+smp.PageSize)
}

// within reports whether an address lies between two 64-bit addresses.
func (w *watcher) within(a, from, to arch.Addr) bool {
	return a >= w.arch.Addr(from) && a < w.arch.Addr(to)
}

// word reads one from memory.
func (w *watcher) word(a arch.Addr) arch.Addr {
	v, _ := w.r.Machine.Memory().Load(a, w.arch.Word)
	return arch.Addr(v)
}

// Instruction implements smp.Tracer.
func (w *watcher) Instruction(_ uint8, in arch.Inst, regs *arch.Regs) {
	ip, sp := in.At(), w.arch.StackPointer(regs)
	if ip == w.at && !w.calling {
		w.rest()
		w.calling = true
		w.returns = append(w.returns[:0], returning{sp, w.word(sp)})
	}
	w.sp, w.counts = sp, false
	w.follow(in, sp)
	if ip == w.trampoline {
		w.part = Return
	}
	part := w.part
	switch own := ip >= w.at && ip < w.at+64; {
	case own:
		w.now.own++
		w.now.Instructions++
		w.now.parts[Copies]++
		return
	case w.isCopy(ip):
		part = Copies
	case !w.isKernel(ip):
		return // a thunk of the simulator's
	}
	if to, ok := in.Target(); ok && in.Flow() == arch.FlowJump && w.isService(to) {
		w.now.Services++
		w.now.Served += w.instructionsOf(ip)
		return
	}
	if in.Flow() == arch.FlowJump && w.k.Replaced(ip) {
		return // to the replacement in an object laid over the kernel
	}
	w.counts = true
	w.now.Instructions++
	w.now.parts[part]++
	w.now.text[ip&^(line-1)] = true
	w.now.text[(ip+arch.Addr(in.Size())-1)&^(line-1)] = true
	w.now.special(in)
}

// line is the size of a line of cache.
const line = 64

// Access implements smp.Tracer.
func (w *watcher) Access(_ uint8, a arch.Addr, size int, _ bool) {
	if !w.counts {
		return
	}
	lines := w.now.data
	if a-w.sp+smp.StackSize < 2*smp.StackSize {
		lines = w.now.stack
	}
	lines[a&^(line-1)] = true
	lines[(a+arch.Addr(size)-1)&^(line-1)] = true
}

// follow tracks the calls that haven't returned, as a CPU does that predicts returns. A routine in Go returns without
// an instruction; so calls below the stack pointer have returned.
func (w *watcher) follow(in arch.Inst, sp arch.Addr) {
	switch in.Flow() {
	case arch.FlowCall, arch.FlowIndirectCall:
		w.returns = append(w.returns, returning{sp - arch.Addr(w.arch.Word), in.Next()})
	case arch.FlowRet:
		if to := w.word(sp); !w.isEnd(to) {
			for len(w.returns) > 0 && w.returns[len(w.returns)-1].sp < sp {
				w.returns = w.returns[:len(w.returns)-1]
			}
			n := len(w.returns) - 1
			if n < 0 || w.returns[n] != (returning{sp, to}) {
				w.now.Mispredicted++
			}
			if n >= 0 && w.returns[n].sp == sp {
				w.returns = w.returns[:n]
			}
		}
	}
}

// isKernel reports whether an address is in the kernel's text, or in that of objects laid over it.
func (w *watcher) isKernel(a arch.Addr) bool {
	for _, s := range w.k.Image.Sections() {
		if s.Exec && uint64(a) >= s.Addr && uint64(a) < s.Addr+s.Size {
			return true
		}
	}
	return false
}

// mostServed bounds the instructions of a function that is done in Go.
const mostServed = 1000

// instructionsOf returns the number of instructions between a function's entry and its first return or tail jump.
func (w *watcher) instructionsOf(f arch.Addr) (n int) {
	if n, ok := w.served[f]; ok {
		return n
	}
	s, _ := w.k.Image.Lookup(uint64(f))
	for ip := f; n < mostServed; n++ {
		in, err := w.arch.Decode(w.k.Image.Bytes(uint64(ip), uint64(w.arch.MaxLen)), ip)
		if err != nil || s.Size > 0 && uint64(ip) >= s.Addr+s.Size {
			break
		}
		to, direct := in.Target()
		if in.Flow() == arch.FlowRet || in.Flow() == arch.FlowIndirectJump ||
			in.Flow() == arch.FlowJump && direct && (uint64(to) < s.Addr || uint64(to) >= s.Addr+s.Size) {
			n++
			break
		}
		ip = in.Next()
	}
	w.served[f] = n
	return n
}
