package mutant

import (
	"kpsim/smp/isa"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// lateDesc is text_poke_bp with its first step behind the second.
type lateDesc struct{ k *kernel.Kernel }

// Patch implements kapi.Patcher.
func (p lateDesc) Patch(x kapi.Context, addr isa.Addr, insn []byte, resume isa.Addr) {
	p.k.Text.Write(x, addr, []byte{isa.Int3})
	p.k.Poke.Publish(x, addr, insn, resume)
	p.k.Sync.Core(x, kapi.SyncPoke1)

	p.k.Text.Write(x, addr+1, insn[1:])
	p.k.Sync.Core(x, kapi.SyncPoke2)

	p.k.Text.Write(x, addr, insn[:1])
	p.k.Sync.Core(x, kapi.SyncPoke3)

	p.k.Poke.Retire(x)
}
