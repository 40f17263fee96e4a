package kernel

import (
	"bytes"
	"fmt"

	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// The orders of text_poke_bp (text_poke_bp_batch and poke_int3_handler,
// arch/x86/kernel/alternative.c, of 5.5 to 5.19, where the count is the descriptor's own and bp_desc
// points to the descriptor; later the descriptor is static, and try_get_desc reads only its count).
// The kernel's count has one more while the descriptor is published: here TakeBack clears the pointer.
var (
	pokePublishes = kapi.DefineBarrier("text_poke: publish the vector", kapi.OrderRelease,
		"text_poke_bp_batch, arch/x86/kernel/alternative.c: smp_store_release(&bp_desc, &desc)")
	pokeWrites = kapi.DefineBarrier("text_poke: publish before int3", kapi.OrderWMB,
		"text_poke_bp_batch: smp_wmb(), before the first text_poke()")
	pokeRetires = kapi.DefineBarrier("text_poke: retire before counting", kapi.OrderMB,
		"text_poke_bp_batch: atomic_dec_and_test(&desc.refs), after WRITE_ONCE(bp_desc, NULL)")
	pokeHits = kapi.DefineBarrier("int3: hit before reading", kapi.OrderRMB,
		"poke_int3_handler, arch/x86/kernel/alternative.c: smp_rmb()")
	pokeGets = kapi.DefineBarrier("int3: hold before reading", kapi.OrderFull,
		"try_get_desc, arch/x86/kernel/alternative.c: arch_atomic_inc_not_zero(&desc->refs)")
	pokePuts = kapi.DefineBarrier("int3: read before letting go", kapi.OrderMB,
		"put_desc, arch/x86/kernel/alternative.c: smp_mb__before_atomic(), before arch_atomic_dec(&desc->refs)")
)

// TextPoke is text_poke_bp: it replaces instructions while other CPUs run them.
// Its breakpoint handler, poke_int3_handler, is asked before the notifier chain. The cond_resched
// of 6.12 between publishing and the first int3 isn't modelled, nor are perf's events.
type TextPoke struct {
	k      *Kernel
	Sync   kapi.Sync                     `state:"boot"` // set at boot, wrapped by mutants
	Steps  []PokeStep                    `state:"boot"` // set at boot: PokeSteps, but for mutants
	Shared func(list []kapi.Rewrite) int `state:"boot"` // set at boot: how many rewrites at the front share their syncs
	desc   kapi.Var[*descriptor]         // read by int3 on any CPU
	refs   kapi.Var[int]                 // handlers that hold the descriptor
	idle   kapi.Is[int]                  `state:"boot"` // set at boot
	only   descriptor
	// owned by text_mutex: of the run
	batches []*batch `state:"skip: those of before, and what follows from the number of this one"`
	n       int      // owned by text_mutex: how many of them there have been
}

// A PokeStep is a step of text_poke_bp, for the batch whose descriptor was published last.
type PokeStep func(p *TextPoke, x kapi.Context)

// PokeSteps are the steps of text_poke_bp_batch (arch/x86/kernel/alternative.c) after the descriptor is published, in
// order. Each sync is a text_poke_sync. A mutant leaves a step out, or adds one, in TextPoke.Steps.
var PokeSteps = []PokeStep{
	(*TextPoke).Break, (*TextPoke).Tails, (*TextPoke).Heads, (*TextPoke).SyncHeads,
	(*TextPoke).TakeBack, (*TextPoke).Order, (*TextPoke).Drain,
}

// A descriptor says what a CPU does that hits a breakpoint of the batch. Its memory belongs to the patcher and is
// reused for the next batch: a handler that still reads it then finds that batch. Under weak memory a handler that
// sees the descriptor may still find an older batch.
type descriptor struct {
	vec kapi.Var[*batch] // the newest
}

// A batch holds its entries, by address. It doesn't change once published.
type batch struct {
	vec    []poked // owned by text_mutex until it is published
	number uint64  // owned by text_mutex until it is published: which one of the run it is
}

// A poked is one instruction under replacement.
type poked struct {
	at     arch.Addr // owned by text_mutex
	insn   []byte    // owned by text_mutex: the bytes to write
	resume arch.Addr // owned by text_mutex: where a CPU continues; 0: it executes as
	as     arch.Inst // owned by text_mutex: nil with resume; or the breakpoint stays, and has another owner
}

// maxBatch is how many rewrites share their syncs: as many as the kernel's page of them holds (TP_VEC_MAX, 4096 /
// 16).
const maxBatch = 256

func (p *TextPoke) init(k *Kernel) {
	p.k, p.Sync = k, &k.Sync
	p.desc.Init(&k.M.Cells, nil)
	p.refs.Init(&k.M.Cells, 0)
	p.only.vec.Init(&k.M.Cells, nil)
	p.idle = kapi.Is[int]{Var: &p.refs}
}

func (p *TextPoke) reset() {
	p.Sync, p.Steps, p.Shared = &p.k.Sync, PokeSteps, inOrder
	p.desc.Set(nil)
	p.refs.Set(0)
	p.only.vec.Set(nil)
	p.n = 0
}

// Patch implements kapi.Patcher: text_poke_bp. Context: may sleep; text_mutex held.
func (p *TextPoke) Patch(x kapi.Context, addr arch.Addr, insn []byte, resume arch.Addr) {
	p.k.Text.mutex.AssertHeld(x)
	p.Publish(x, addr, insn, resume)
	p.do(x)
}

// Batch implements kapi.Batcher: text_poke_queue of each, then text_poke_finish. Rewrites share the syncs as long as
// they are in the order of their addresses (tp_order_fail). Context: may sleep; text_mutex held.
func (p *TextPoke) Batch(x kapi.Context, list []kapi.Rewrite) {
	p.k.Text.mutex.AssertHeld(x)
	for len(list) > 0 {
		n := min(p.Shared(list), maxBatch)
		p.publish(x, list[:n])
		p.do(x)
		list = list[n:]
	}
}

// inOrder returns how many rewrites at the front of a list are in the order of their addresses:
// the handler of a breakpoint looks its entry up by halving.
func inOrder(list []kapi.Rewrite) int {
	n := 1
	for n < len(list) && list[n].At > list[n-1].At {
		n++
	}
	return n
}

// do makes the steps of text_poke_bp_batch.
func (p *TextPoke) do(x kapi.Context) {
	for _, step := range p.Steps {
		step(p, x)
	}
}

// Publish is step 0 of Patch: it publishes the descriptor of the coming write.
func (p *TextPoke) Publish(x kapi.Context, addr arch.Addr, insn []byte, resume arch.Addr) {
	announce(x, addr, insn)
	b := p.next()
	b.vec = append(b.vec, poked{at: addr, insn: insn, resume: resume})
	p.show(x, b)
}

// publish is Publish of a batch.
func (p *TextPoke) publish(x kapi.Context, list []kapi.Rewrite) {
	b := p.next()
	for i := range list {
		w := &list[i]
		announce(x, w.At, w.Insn)
		as := w.As
		if as == nil {
			as = w.Insn
		}
		e := poked{at: w.At, insn: w.Insn}
		if !p.k.M.Arch().IsBreakpoint(arch.Word(as)) {
			in, err := p.k.M.Text().Decode(as, w.At)
			if err != nil || !emulates(in) && !bytes.Equal(as, p.k.M.Arch().BranchNop.Bytes()) {
				ctxOf(x).Bug(fmt.Sprintf("text_poke: % x at %#x is nothing that the breakpoint's handler can do", as,
					uint64(w.At)))
				in = nil
			}
			if e.as = in; in != nil && in.Flow() == arch.FlowCall && p.k.M.Arch().Frame.NoSP {
				e.as, e.resume = nil, in.Next() // a return address has no room: the call isn't made (i386 until 5.2)
			}
		}
		b.vec = append(b.vec, e)
	}
	p.show(x, b)
}

// next returns the next batch of the run, without entries.
func (p *TextPoke) next() *batch {
	if p.n == len(p.batches) {
		p.batches = append(p.batches, new(batch))
	}
	b := p.batches[p.n]
	p.n++
	b.vec, b.number = b.vec[:0], uint64(p.n)
	return b
}

// show publishes a batch, before any breakpoint is written.
func (p *TextPoke) show(x kapi.Context, b *batch) {
	if ctxOf(x).Weak() {
		p.only.vec.Put(x, b)
	} else { // published with the descriptor's cell
		p.only.vec.Overwrite(b)
	}
	p.desc.StoreRelease(x, pokePublishes, &p.only)
	x.Fence(pokeWrites)
}

// emulates reports whether the handler of a batch's breakpoint can emulate the instruction (text_poke_loc_init: nop,
// jmp, jcc, call, ret).
func emulates(in arch.Inst) bool {
	switch in.Flow() {
	case arch.FlowJump, arch.FlowCond, arch.FlowCall, arch.FlowRet:
		return true
	}
	return in.IsNop()
}

// now returns the entries of the batch that was published last.
func (p *TextPoke) now() []poked { return p.batches[p.n-1].vec }

// Break puts a breakpoint on each first byte, and syncs.
func (p *TextPoke) Break(x kapi.Context) {
	for _, e := range p.now() {
		p.k.Text.Write(x, e.at, p.k.M.Arch().Breakpoint)
	}
	p.Sync.Core(x, smpev.SyncPoke1)
}

// Tails replaces each byte but the first, and syncs.
func (p *TextPoke) Tails(x kapi.Context) {
	tails := false
	for _, e := range p.now() {
		if len(e.insn) > 1 {
			p.k.Text.Write(x, e.at+1, e.insn[1:])
			tails = true
		}
	}
	if tails {
		p.Sync.Core(x, smpev.SyncPoke2)
	}
}

// Heads replaces the first bytes, except those whose new value is a breakpoint.
func (p *TextPoke) Heads(x kapi.Context) {
	for _, e := range p.now() {
		if !p.k.M.Arch().IsBreakpoint(arch.Word(e.insn)) {
			p.k.Text.Write(x, e.at, e.insn[:1])
		}
	}
}

// SyncHeads syncs if Heads replaced any.
func (p *TextPoke) SyncHeads(x kapi.Context) {
	for _, e := range p.now() {
		if !p.k.M.Arch().IsBreakpoint(arch.Word(e.insn)) {
			p.Sync.Core(x, smpev.SyncPoke3)
			return
		}
	}
}

// TakeBack takes the descriptor back (WRITE_ONCE(bp_desc, NULL)): breakpoints that are hit from now on aren't the
// patcher's.
func (p *TextPoke) TakeBack(x kapi.Context) { p.desc.WriteOnce(x, nil) }

// Order makes TakeBack visible before Drain looks (atomic_dec_and_test).
func (p *TextPoke) Order(x kapi.Context) { x.Fence(pokeRetires) }

// Drain waits until no handler holds the descriptor (atomic_cond_read_acquire).
func (p *TextPoke) Drain(x kapi.Context) { x.Spin(&p.idle) }

// Retire makes the last three steps: no handler finds the descriptor any more, and none holds it.
func (p *TextPoke) Retire(x kapi.Context) {
	p.TakeBack(x)
	p.Order(x)
	p.Drain(x)
}

// breakpoint is poke_int3_handler, the first handler to check a #BP. Context: interrupts off; it calls nothing that
// could be probed.
func (p *TextPoke) breakpoint(x kapi.Context, regs *arch.Regs) uint64 {
	x.Fence(pokeHits)
	if p.desc.ReadOnce(x) == nil {
		return 0
	}
	kapi.Add(&p.refs, x, pokeGets, 1)
	owner := uint64(0)
	if d := p.desc.Deref(x); d != nil { // still published, now that we hold it
		owner = d.claim(x, regs, p.k.M.Arch().BreakpointAt(regs))
	}
	x.Fence(pokePuts)
	kapi.Add(&p.refs, x, kapi.Once, -1)
	return owner
}

// look returns the batch that a handler finds.
func (d *descriptor) look(x kapi.Context) *batch {
	if ctxOf(x).Weak() {
		return d.vec.Look(x)
	}
	return d.vec.Peek()
}

// claim executes the entry whose breakpoint was hit, at an address, if there is one.
func (d *descriptor) claim(x kapi.Context, regs *arch.Regs, at arch.Addr) uint64 {
	b := d.look(x)
	if b == nil { // the descriptor is newer than the table
		return 0
	}
	lo, hi := 0, len(b.vec)
	for lo < hi { // binary search: an entry out of order isn't found
		if len(b.vec) > 1 {
			x.Step("int3 handler, search", hi-lo)
		}
		if d.look(x) != b { // the table that it read is gone
			ctxOf(x).Bug("a batch of text_poke_bp is looked through whose memory is the next one's")
			return 0
		}
		if mid := (lo + hi) / 2; b.vec[mid].at < at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(b.vec) || b.vec[lo].at != at {
		return 0
	}
	switch e := &b.vec[lo]; {
	case e.resume != 0:
		regs.IP = e.resume
	case e.as != nil:
		regs.IP = at
		e.as.Exec(regs, x.Memory())
	default:
		return 0
	}
	return smpev.OwnerPoke
}

// announce emits Image: the whole instruction that a patcher is about to install. Its stores are TextStore
// (smp/text.go).
func announce(x kapi.Context, addr arch.Addr, insn []byte) {
	lo, hi := traces.PackBytes(insn)
	x.Emit(smpev.Image, uint64(addr), lo, hi)
}

// PokeStopped is text_poke_smp: plain stores while the machine is stopped.
// It implements kapi.Patcher.
type PokeStopped struct{ K *Kernel }

// Patch implements kapi.Patcher. Context: may sleep; text_mutex held.
func (p PokeStopped) Patch(x kapi.Context, addr arch.Addr, insn []byte, _ arch.Addr) {
	p.K.Text.mutex.AssertHeld(x)
	announce(x, addr, insn)
	p.K.Stop.Machine(x, func(x kapi.Context) { p.K.Text.Write(x, addr, insn) })
}

// Batch implements kapi.Batcher: the machine is stopped once (ftrace_run_stop_machine). Context: as Patch.
func (p PokeStopped) Batch(x kapi.Context, list []kapi.Rewrite) {
	p.K.Text.mutex.AssertHeld(x)
	for i := range list {
		announce(x, list[i].At, list[i].Insn)
	}
	write := func(x kapi.Context) {
		for i := range list {
			p.K.Text.Write(x, list[i].At, list[i].Insn)
		}
	}
	if p.K.Planted(sitesUnstopped) {
		write(x)
		return
	}
	p.K.Stop.Machine(x, write)
}

// What mutants do.
var (
	wholeUnsynced = kapi.DefineFault("label-unsynced",
		"on riscv64 and arm64 nothing makes the other CPUs serialise after jump labels are written",
		"cfb00a357864, arm64, until 6.10: kick_all_cpus_sync; riscv64: flush_icache_all")
	wholeStopped = kapi.DefineFault("label-stopped",
		"on riscv64 and arm64 jump labels are written with the machine stopped, and the other CPUs, whose interrupts "+
			"are off, are sent the IPI of the sync from there",
		"f6cc0c501649, arm64, 4.19-rc: aarch64_insn_patch_text; like c97bf629963e, riscv64")
	wholeTorn = kapi.DefineFault("whole-torn",
		"where a nop becomes a jump or a call of its length, each half of it is a store of its own",
		"patch_insn_write of riscv64 where no .align precedes the nop, until 9ddfc3cd8060: two stores of two bytes")
	sitesUnsynced = kapi.DefineFault("sites-unsynced",
		"on riscv64 nothing makes the other CPUs serialise after the calls at functions' beginnings are written",
		"riscv64: flush_icache_all at the end of a batch")
	sitesUnstopped = kapi.DefineFault("sites-unstopped",
		"on riscv64 both instructions of the call at a function's beginning are written under CPUs that run",
		"stop_machine, riscv64, until 8547649981e6")
)

// PokeWhole replaces instructions by the new ones, without a breakpoint, where processors allow that or are taken to:
// a nop by a jump of its length, and back. riscv64: patch_insn_write (arch/riscv/kernel/patch.c) of each, and
// flush_icache_all once (arch_jump_label_transform_apply, since 6.12). arm64: aarch64_insn_patch_text_nosync
// (arch/arm64/kernel/patching.c) of each, and kick_all_cpus_sync once (since 6.11). ppc64le: patch_instruction
// (arch/powerpc/lib/code-patching.c) of each, and nothing else. It implements kapi.Batcher.
//
//	step 1: store each instruction, and serialise this CPU
//	step 2: make all CPUs serialise
//
// Stores are as large as their addresses allow (arch.Arch.Aligned): four bytes at an odd multiple of two are two
// stores. The maintenance of caches is part of the store: dc and ic of arm64 act on all CPUs, and what is left to a CPU
// is what it has fetched (isb). riscv64's fence.i is of its own CPU.
//
// arm64 has a spinlock in place of text_mutex, and riscv64 lets that go between two sites. Before the releases named
// here sites were written one by one: riscv64 flushed after each, arm64 had no sync of other CPUs.
type PokeWhole struct {
	K     *Kernel
	Sites bool // they are ftrace's (ftrace_modify_all_code, then arch_ftrace_update_code)
	Local bool // step 2 is left out, as where these are arm64's, and everywhere on ppc64le
}

// Patch implements kapi.Patcher. Context: may sleep; text_mutex held.
func (p PokeWhole) Patch(x kapi.Context, addr arch.Addr, insn []byte, _ arch.Addr) {
	p.Batch(x, []kapi.Rewrite{{At: addr, Insn: insn}})
}

// Batch implements kapi.Batcher. Context: may sleep; text_mutex held.
func (p PokeWhole) Batch(x kapi.Context, list []kapi.Rewrite) {
	p.K.Text.mutex.AssertHeld(x)
	if p.K.Planted(wholeStopped) && !p.Sites {
		p.K.Stop.Machine(x, func(x kapi.Context) { p.write(x, list) })
		return
	}
	p.write(x, list)
}

// write makes the steps.
func (p PokeWhole) write(x kapi.Context, list []kapi.Rewrite) {
	for i := range list {
		w := &list[i]
		announce(x, w.At, w.Insn)
		at, insn := w.At+arch.Addr(w.Keep), w.Insn[w.Keep:]
		if half := len(insn) / 2; p.K.Planted(wholeTorn) {
			p.K.Text.Write(x, at, insn[:half])
			at, insn = at+arch.Addr(half), insn[half:]
		}
		p.K.Text.Write(x, at, insn)
		p.K.Text.Sync.Self(x, smpev.SyncSelf)
	}
	unsynced := wholeUnsynced
	if p.Sites {
		unsynced = sitesUnsynced
	}
	if !p.Local && !p.K.Planted(unsynced) {
		p.K.Sync.Core(x, smpev.SyncWhole)
	}
}

// PokeNaive patches in the way that must not be used: plain stores under running CPUs, the
// head byte first or last. It implements kapi.Patcher.
type PokeNaive struct {
	K         *Kernel
	TailFirst bool
}

// Patch implements kapi.Patcher. Context: text_mutex held.
func (p PokeNaive) Patch(x kapi.Context, addr arch.Addr, insn []byte, _ arch.Addr) {
	announce(x, addr, insn)
	text := &p.K.Text
	if !p.TailFirst {
		text.Write(x, addr, insn[:1])
	}
	text.Write(x, addr+1, insn[1:])
	if p.TailFirst {
		text.Write(x, addr, insn[:1])
	}
	text.Sync.Self(x, smpev.SyncSelf)
}

// Held reports whether a handler holds the descriptor.
func (p *TextPoke) Held() bool { return p.refs.Peek() != 0 }
