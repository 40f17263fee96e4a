package kernel

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// pokeMaps is the order that text_poke has before it stores: it switches to an address space that maps the text,
// which serialises. Publishers of a breakpoint's meaning rely on it. The stores of text_poke_bp have its smp_wmb
// here, and not this order in addition, so that smp_wmb matters.
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
func (t *Text) Read(x kapi.Context, addr arch.Addr, b []byte) { ctxOf(x).Text().Read(addr, b) }

// Write implements kapi.Text.
func (t *Text) Write(x kapi.Context, addr arch.Addr, b []byte) { ctxOf(x).Text().Write(addr, b) }

// Fill implements kapi.Text.
func (t *Text) Fill(x kapi.Context, addr arch.Addr, b []byte) { ctxOf(x).Text().Fill(addr, b) }

// Poke implements kapi.Text: text_poke.
func (t *Text) Poke(x kapi.Context, addr arch.Addr, b []byte) {
	t.mutex.AssertHeld(x)
	x.Fence(pokeMaps)
	t.Write(x, addr, b)
	t.Sync.Self(x, smpev.SyncSelf)
}

// Exchange writes a byte of text and returns the old one, in one step, if text_mutex is free: as kgdb does while it
// holds all other CPUs (text_poke_kgdb). ok is false if a task holds the mutex; then nothing is written. Only this
// CPU serialises.
func (t *Text) Exchange(x kapi.Context, addr arch.Addr, b byte) (was byte, ok bool) {
	x.Fence(pokeMaps)
	if was, ok = ctxOf(x).Text().Swap(addr, b, &t.mutex.free); ok {
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
