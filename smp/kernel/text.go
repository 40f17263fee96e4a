package kernel

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// pokeMaps is what text_poke does before it stores: it goes to an address space that maps
// the text, which serialises. Publishers of what a breakpoint is about rest on it. The
// stores of text_poke_bp have its smp_wmb here, and not this besides, so that smp_wmb is
// seen to matter.
var pokeMaps = kapi.DefineBarrier("text_poke: all before the text", kapi.OrderMB,
	"__text_poke, arch/x86/kernel/alternative.c: use_temporary_mm(), a write of CR3")

// Text is the kernel's text as patchers read and write it. It implements
// kapi.Text.
type Text struct {
	k     *Kernel
	Sync  kapi.Sync `state:"boot"` // set at boot
	mutex *Mutex    // set at boot
}

func (t *Text) init(k *Kernel) {
	t.k, t.Sync = k, &k.Sync
	t.mutex = k.Locks.mutex("text_mutex")
	k.Locks.keep()
}

// Read implements kapi.Text.
func (t *Text) Read(x kapi.Context, addr arch.Addr, b []byte) { ctxOf(x).ReadText(addr, b) }

// Write implements kapi.Text.
func (t *Text) Write(x kapi.Context, addr arch.Addr, b []byte) { ctxOf(x).WriteText(addr, b) }

// Fill implements kapi.Text.
func (t *Text) Fill(x kapi.Context, addr arch.Addr, b []byte) { ctxOf(x).FillText(addr, b) }

// Poke implements kapi.Text.
func (t *Text) Poke(x kapi.Context, addr arch.Addr, b []byte) {
	t.mutex.AssertHeld(x)
	x.Fence(pokeMaps)
	t.Write(x, addr, b)
	t.Sync.Self(x, smpev.SyncSelf)
}

// Exchange writes a byte of text and returns what was there, in one step, if text_mutex is
// free: as kgdb does while it holds all other CPUs (text_poke_kgdb). ok false: a task holds
// the mutex, and nothing is written. No CPU is serialised but this one.
func (t *Text) Exchange(x kapi.Context, addr arch.Addr, b byte) (was byte, ok bool) {
	x.Fence(pokeMaps)
	if was, ok = ctxOf(x).SwapText(addr, b, &t.mutex.free); ok {
		t.Sync.Self(x, smpev.SyncSelf)
	}
	return was, ok
}

// Decode implements kapi.Text.
func (t *Text) Decode(b []byte, at arch.Addr) (arch.Inst, error) { return t.k.M.Text().Decode(b, at) }

// Arch implements kapi.Text.
func (t *Text) Arch() *arch.Arch { return t.k.M.Arch() }

// Mutex implements kapi.Text.
func (t *Text) Mutex() kapi.Mutex { return t.mutex }
