package kernel

import (
	"kpsim/smp"
	"kpsim/smp/isa"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// ExecMem hands out executable memory within reach of a rel32 from text. What
// was freed last is handed out first: if anything still runs there, it shows.
// It implements kapi.Exec.
type ExecMem struct {
	k    *Kernel
	next isa.Addr      // owned by kprobe_mutex
	free [3][]isa.Addr // owned by kprobe_mutex: by what it was
}

const (
	execPages = 4
	slotSize  = 32  // of a SlotMem: 15 bytes of instruction and a way back
	detourMax = 256 // of a DetourMem
)

var execSizes = [3]int{kapi.SlotMem: slotSize, kapi.DetourMem: detourMax}

// ExecRange returns where executable memory is handed out.
func ExecRange() (from, to isa.Addr) { return smp.ExecBase, smp.ExecBase + execPages<<12 }

func (e *ExecMem) init(k *Kernel) {
	e.k = k
	k.M.MapExec(smp.ExecBase, execPages)
	k.M.AddSymbol("slots", smp.ExecBase, execPages<<12)
	e.reset()
}

func (e *ExecMem) reset() {
	e.next = smp.ExecBase
	for i := range e.free {
		e.free[i] = e.free[i][:0]
	}
}

// Alloc implements kapi.Exec.
func (e *ExecMem) Alloc(x kapi.Context, size int, what uint64) (isa.Addr, bool) {
	x.Step("alloc_insn_slot", int(what))
	full := execSizes[what]
	if size > full {
		return 0, false
	}
	var at isa.Addr
	if n := len(e.free[what]); n > 0 {
		at = e.free[what][n-1]
		e.free[what] = e.free[what][:n-1]
	} else {
		if e.next+isa.Addr(full) > smp.ExecBase+execPages<<12 {
			return 0, false
		}
		at = e.next
		e.next += isa.Addr(full)
	}
	x.Emit(smpev.Alloc, uint64(at), uint64(size), what)
	return at, true
}

// Free implements kapi.Exec.
func (e *ExecMem) Free(x kapi.Context, addr isa.Addr, size int, what uint64) {
	x.Emit(smpev.Free, uint64(addr), uint64(size), what)
	x.(*smp.Ctx).PoisonText(addr, size)
	e.free[what] = append(e.free[what], addr)
}
