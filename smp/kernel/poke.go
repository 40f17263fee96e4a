package kernel

import (
	"kpsim/smp/isa"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// TextPoke is text_poke_bp: it replaces an instruction while other CPUs run it.
// Its breakpoint handler is the first of the notifier chain.
type TextPoke struct {
	k    *Kernel
	Sync kapi.Sync             // set at boot, wrapped by mutants
	desc kapi.Var[*descriptor] // read by int3 on any CPU
	refs kapi.Var[int]         // handlers that hold the descriptor
	idle kapi.Is[int]          // set at boot
	only descriptor            // owned by text_mutex
}

// A descriptor says what a CPU does that meets the breakpoint at an address.
type descriptor struct{ at, resume isa.Addr }

func (p *TextPoke) init(k *Kernel) {
	p.k, p.Sync = k, &k.Sync
	p.desc.Init(&k.M.Cells, nil)
	p.refs.Init(&k.M.Cells, 0)
	p.idle = kapi.Is[int]{Var: &p.refs}
}

func (p *TextPoke) reset() {
	p.Sync = &p.k.Sync
	p.desc.Set(nil)
	p.refs.Set(0)
}

var int3 = [...]byte{isa.Int3}

// Patch implements kapi.Patcher. Context: may sleep; text_mutex held.
//
//	step 0: publish what a CPU does that meets the breakpoint
//	step 1: put a breakpoint on the first byte;  sync
//	step 2: replace every byte but the first;    sync
//	step 3: replace the first byte;              sync
//	step 4: take the descriptor back; wait until no handler holds it
func (p *TextPoke) Patch(x kapi.Context, addr isa.Addr, insn []byte, resume isa.Addr) {
	text := &p.k.Text

	p.Publish(x, addr, insn, resume)

	text.Write(x, addr, int3[:])
	p.Sync.Core(x, kapi.SyncPoke1)

	text.Write(x, addr+1, insn[1:])
	p.Sync.Core(x, kapi.SyncPoke2)

	if insn[0] != isa.Int3 {
		text.Write(x, addr, insn[:1])
		p.Sync.Core(x, kapi.SyncPoke3)
	}

	p.Retire(x)
}

// Publish is step 0 of Patch: the descriptor of what is about to be written.
func (p *TextPoke) Publish(x kapi.Context, addr isa.Addr, insn []byte, resume isa.Addr) {
	announce(x, addr, insn)
	p.only = descriptor{addr, resume}
	p.desc.Store(x, &p.only)
}

// Retire is step 4 of Patch.
func (p *TextPoke) Retire(x kapi.Context) {
	p.desc.Store(x, nil)
	x.Spin(&p.idle)
}

// breakpoint is asked first of all whether a #BP is its own. Context:
// interrupts off; it calls nothing that could be probed.
func (p *TextPoke) breakpoint(x kapi.Context, regs *isa.Regs) uint64 {
	if p.desc.Load(x) == nil {
		return 0
	}
	kapi.Add(&p.refs, x, 1)
	owner := uint64(0)
	if d := p.desc.Load(x); d != nil && regs.IP == d.at+1 { // still there, now that we hold it
		regs.IP = d.resume
		owner = kapi.OwnerPoke
	}
	kapi.Add(&p.refs, x, -1)
	return owner
}

// announce takes down the whole image that a patcher is about to install.
func announce(x kapi.Context, addr isa.Addr, insn []byte) {
	lo, hi := traces.PackBytes(insn)
	x.Emit(smpev.Image, uint64(addr), lo, hi)
}

// PokeStopped is text_poke_smp: plain stores while the machine is stopped.
// It implements kapi.Patcher.
type PokeStopped struct{ K *Kernel }

// Patch implements kapi.Patcher. Context: may sleep; text_mutex held.
func (p PokeStopped) Patch(x kapi.Context, addr isa.Addr, insn []byte, _ isa.Addr) {
	announce(x, addr, insn)
	p.K.Stop.Machine(x, func(x kapi.Context) { p.K.Text.Write(x, addr, insn) })
}

// PokeNaive is what must not be done: plain stores under running CPUs, the
// head byte first or last. It implements kapi.Patcher.
type PokeNaive struct {
	K         *Kernel
	TailFirst bool
}

// Patch implements kapi.Patcher. Context: text_mutex held.
func (p PokeNaive) Patch(x kapi.Context, addr isa.Addr, insn []byte, _ isa.Addr) {
	announce(x, addr, insn)
	text := &p.K.Text
	if !p.TailFirst {
		text.Write(x, addr, insn[:1])
	}
	text.Write(x, addr+1, insn[1:])
	if p.TailFirst {
		text.Write(x, addr, insn[:1])
	}
	text.Sync.Self(x, kapi.SyncSelf)
}
