package bpf

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A TailCall is a place where a program continues in another one that an array holds (struct bpf_jit_poke_descriptor).
// It has two instructions:
//
//	bypass   a jump to out while the array holds no program, otherwise a nop
//	         (the stack is taken down)
//	target   a nop while the array holds no program, otherwise a jump to it
//	out
//
// A CPU must never come from a bypass that is a nop to a target that is one.
type TailCall struct {
	b      *Bpf       `state:"boot"` // set at boot
	bypass arch.Addr  // set at boot
	target arch.Addr  // set at boot
	out    arch.Addr  // set at boot
	mutex  kapi.Mutex `state:"address: it is among the mutexes"` // set at boot: aux->poke_mutex
	prog   arch.Addr  // owned by mutex: the program that the array holds; 0: none
}

var (
	otherOrder = kapi.DefineFault("bpf-tail-order",
		"of a tail call's two instructions the bypass is opened before the target leads to a program, and closed after it",
		"bpf_arch_poke_desc_update: the order of its two __bpf_arch_text_poke")
	tailUnwaited = kapi.DefineFault("bpf-tail-unwaited",
		"a tail call's target becomes a nop while a CPU that has passed the bypass may not have come to it",
		"bpf_arch_poke_desc_update: synchronize_rcu")
)

// AddTailCall makes a tail call with these instructions, at boot.
func (b *Bpf) AddTailCall(bypass, target, out arch.Addr) *TailCall {
	t := &TailCall{b: b, bypass: bypass, target: target, out: out, mutex: b.d.Boot.BootMutex("aux->poke_mutex")}
	b.tails = append(b.tails, t)
	return t
}

// Images calls image with the instructions that may stand there, if the array may hold these programs.
func (t *TailCall) Images(progs []arch.Addr, image func(at arch.Addr, insn arch.Code)) {
	a := t.b.d.Text.Arch()
	jump, _ := a.Jump(t.bypass, t.out)
	image(t.bypass, jump)
	image(t.bypass, a.BranchNop)
	image(t.target, a.BranchNop)
	for _, p := range progs {
		jump, _ := a.Jump(t.target, p)
		image(t.target, jump)
	}
}

// Reaches reports whether a program is in reach of the jump to it.
func (t *TailCall) Reaches(prog arch.Addr) bool {
	_, ok := t.b.d.Text.Arch().Jump(t.target, prog)
	return ok
}

// Leads reports whether the array holds a program, as of now. It accesses nothing.
func (t *TailCall) Leads() bool { return t.prog != 0 }

// Set has the array hold a program, 0: none (bpf_arch_poke_desc_update):
//
//	a program comes    step 1: the target jumps to it
//	                   step 2: unless there was one, the bypass becomes a nop
//	the program goes   step 1: the bypass jumps to out
//	                   step 2: wait for CPUs that have passed it
//	                   step 3: the target becomes a nop
//
// Context: may sleep; takes poke_mutex, text_mutex.
func (t *TailCall) Set(x kapi.Context, prog arch.Addr) {
	a, boot := t.b.d.Text.Arch(), t.b.d.Boot
	t.mutex.Lock(x)
	old := t.prog
	t.prog = prog
	bypass, _ := a.Jump(t.bypass, t.out)
	target := a.BranchNop
	if prog != 0 {
		bypass = a.BranchNop
		target, _ = a.Jump(t.target, prog)
	}
	swapped := boot.Planted(otherOrder) && (old == 0 || prog == 0)
	switch {
	case old == prog:
	case prog != 0 && old != 0:
		t.poke(x, t.target, target)
	case (prog != 0) != swapped:
		t.poke(x, t.target, target)
		t.poke(x, t.bypass, bypass)
	default:
		t.poke(x, t.bypass, bypass)
		if prog == 0 && !boot.Planted(tailUnwaited) {
			t.b.d.RCU.Synchronize(x, kapi.QuiesceRCU)
		}
		t.poke(x, t.target, target)
	}
	t.mutex.Unlock(x)
}

// poke replaces an instruction (bpf_arch_text_poke). Context: poke_mutex held.
func (t *TailCall) poke(x kapi.Context, at arch.Addr, insn arch.Code) {
	d := &t.b.d
	d.Text.Mutex().Lock(x)
	d.Patch.Batch(x, []kapi.Rewrite{{At: at, Insn: insn.Bytes()}})
	d.Text.Mutex().Unlock(x)
}
