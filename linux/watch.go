package linux

import (
	"kpsim/engine"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// watched lists functions whose calls are noted, for monitors and for facts that only the end
// of a call shows. The functions still run.
var watched = []watch{
	{"text_poke_bp_batch", pokeBegins, pokeEnds},
	{"smp_text_poke_batch_finish", finishBegins, pokeEnds},
	{"__get_insn_slot", nil, slotGot},
	{"__free_insn_slot", slotGiven, nil},
	{"collect_garbage_slots", nil, collected},
	{"poke_int3_handler", nil, claimedPoke},
	{"smp_text_poke_int3_handler", nil, claimedPoke},
	{"kprobe_int3_handler", nil, claimedKprobe},
	{"kprobe_breakpoint_handler", nil, claimedKprobe},
	{"kprobe_single_step_handler", nil, claimedKprobe},
	{"kprobe_handler", nil, claimedKprobe},
	{"kprobe_post_handler", nil, claimedKprobe},
	{"kprobes_inc_nmissed_count", missed, nil},
	{"rethook_try_get", tryGet, triedGet},
	{"rethook_recycle", recycled, nil},
	{"arch_rethook_prepare", hooked, nil},
	{"rethook_trampoline_handler", passes, passed},
	// Return probes without rethook.
	{"recycle_rp_inst", recycled, nil},
	{"arch_prepare_kretprobe", prepared, nil},
	{"__kretprobe_trampoline_handler", nil, passedAll},
}

// pokeBegins is text_poke_bp_batch(tp, nr_entries). It reports the text about to be written.
func pokeBegins(e *Linux, x kapi.Context, a *args) { e.poke.tell(x, arch.Addr(a[0]), a[1]&0xffffffff) }

// finishBegins is smp_text_poke_batch_finish(). The entries are in text_poke_array.
func finishBegins(e *Linux, x kapi.Context, _ *args) {
	if n := get(x, e.k.symbols.pokeArray, e.k.fields.poke.count); n > 0 {
		e.poke.tell(x, e.k.symbols.pokeArray+arch.Addr(e.k.fields.poke.list.off), n)
	}
}

// tell reports n entries at an address.
func (po *poke) tell(x kapi.Context, at arch.Addr, n uint64) {
	f := &po.k.fields
	po.syncs = smpev.SyncPoke1
	for i := range min(n, 4096) {
		tp := at + arch.Addr(i)*arch.Addr(f.poke.size)
		rel, _ := x.Memory().Load(tp+arch.Addr(f.poke.addr.off), 4)
		size, _ := x.Memory().Load(tp+arch.Addr(f.poke.len.off), 1)
		b := po.scratch[:min(size, 8)]
		po.read(x, tp+arch.Addr(f.poke.text.off), b)
		lo, hi := traces.PackBytes(b)
		x.Emit(smpev.Image, po.k.truncated(uint64(po.k.text.at)+uint64(int64(int32(rel)))), lo, hi)
	}
}

func pokeEnds(e *Linux, _ kapi.Context, _ *args) { e.poke.syncs = 0 }

// cacheOf returns the use of the memory of a cache of slots, and the size of a slot.
func (e *env) cacheOf(x kapi.Context, at uint64) (what uint64, size uint64) {
	what = kpev.SlotMem
	if arch.Addr(at) == e.k.symbols.optSlots {
		what = kpev.DetourMem
	}
	return what, get(x, arch.Addr(at), e.k.fields.slots.size) * uint64(e.k.fields.opcode)
}

// slotGot is the end of __get_insn_slot(cache).
func slotGot(e *Linux, x kapi.Context, a *args) {
	if got := e.returned(x); got != 0 {
		what, size := e.cacheOf(x, a[0])
		x.Emit(smpev.Alloc, got, size, what)
		if e.booting {
			e.boot.held = append(e.boot.held, engine.Held{At: arch.Addr(got), Size: size, What: what})
		}
	}
}

// slotGiven is __free_insn_slot(cache, slot, dirty).
func slotGiven(e *Linux, x kapi.Context, a *args) {
	what, size := e.cacheOf(x, a[0])
	if a[2]&0xffffffff == 0 {
		x.Emit(smpev.Free, a[1], size, what)
		return
	}
	x.Emit(smpev.Retire, a[1], size, what)
	e.memory.retired = append(e.memory.retired, retired{a[0], a[1]})
}

// A retired slot is one that waits to be collected.
type retired struct{ cache, at uint64 }

// collected is the end of collect_garbage_slots(cache): the retired slots are free now.
func collected(e *Linux, x kapi.Context, a *args) {
	what, size := e.cacheOf(x, a[0])
	left := e.memory.retired[:0]
	for _, r := range e.memory.retired {
		if r.cache != a[0] {
			left = append(left, r)
			continue
		}
		x.Emit(smpev.Free, r.at, size, what)
	}
	e.memory.retired = left
}

func claimedPoke(e *Linux, x kapi.Context, _ *args) {
	if e.returned(x)&0xff != 0 {
		e.traps.owner[x.CPU()] = smpev.OwnerPoke
	}
}

func claimedKprobe(e *Linux, x kapi.Context, _ *args) {
	if e.returned(x)&0xffffffff != 0 {
		e.traps.owner[x.CPU()] = kpev.OwnerKprobe
	}
}

// missed is kprobes_inc_nmissed_count(p). For an aggregate it counts a miss for each of its probes.
func missed(e *Linux, x kapi.Context, a *args) {
	if i := e.users.of(a[0]); i >= 0 {
		x.Emit(kpev.Missed, uint64(i), 0, 0)
		return
	}
	e.users.children(x, arch.Addr(a[0]), func(i int) { x.Emit(kpev.Missed, uint64(i), 0, 0) })
}

// children calls f with the number of each probe of an aggregate, in its order.
func (u *users) children(x kapi.Context, ap arch.Addr, f func(i int)) {
	list := arch.Addr(u.k.fields.kprobe.list.off)
	at := ap + list
	for range len(u.list) + 1 {
		v, ok := x.Memory().Load(at, u.k.word)
		at = arch.Addr(v)
		if !ok || at == ap+list {
			return
		}
		if i := u.of(uint64(at - list)); i >= 0 {
			f(i)
		}
	}
}

// skipped reports the probes at an address that come after one whose pre_handler has changed
// the path. Their pre_handlers aren't run.
func (u *users) skipped(x kapi.Context, by int) {
	list, f := arch.Addr(u.k.fields.kprobe.list.off), &u.k.fields
	for at, n := u.list[by].at+list, 0; n <= len(u.list); n++ {
		at = u.pointer(x, at)
		i := u.of(uint64(at - list))
		if i < 0 || i == by {
			return
		}
		if p := u.list[i]; (p.has(kpev.Pre) || p.Kind == engine.Kretprobe) &&
			get(x, p.at, f.kprobe.flags)&flagDisabled == 0 {
			x.Emit(kpev.Skipped, uint64(i), uint64(by), 0)
		}
	}
}

// hooked is arch_rethook_prepare(node, regs, mcount), which saves the return address.
func hooked(e *Linux, x kapi.Context, a *args) {
	var regs arch.Regs
	e.loadRegs(x, a[1], &regs)
	to, _ := e.k.arch.Caller(x.Memory(), &regs)
	x.Emit(kpev.Hooked, a[0], uint64(e.k.arch.StackPointer(&regs)), uint64(to))
	e.fprobes.hooks(a[0], e.k.arch.StackPointer(&regs))
}

// passedAll is the end of __kretprobe_trampoline_handler(regs, fp), until 5.15 (regs, trampoline, fp): all handlers
// have run. The frame pointer is where the return address lay if calls push that, and nothing known if they don't.
func passedAll(e *Linux, x kapi.Context, a *args) {
	if e.k.arch.Pushed > 0 {
		frame := a[1]
		if arch.Addr(frame) == e.k.symbols.trampoline {
			frame = a[2]
		}
		x.Emit(kpev.Trampoline, frame, e.returned(x), 0)
		return
	}
	var regs arch.Regs
	e.loadRegs(x, a[0], &regs)
	x.Emit(kpev.Trampoline, uint64(e.k.arch.StackPointer(&regs)), e.returned(x), 0)
}

// passes is the beginning of rethook_trampoline_handler(regs, frame).
func passes(e *Linux, _ kapi.Context, _ *args) { e.fprobes.returns() }

// passed is the end of rethook_trampoline_handler(regs, frame): all handlers have run. Where calls push nothing the
// frame is whatever the processor's part of the kernel takes for it: riscv64's takes the frame pointer.
func passed(e *Linux, x kapi.Context, a *args) {
	e.fprobes.gone(x, a[1])
	if e.k.arch.Pushed == 0 {
		passedAll(e, x, a)
		return
	}
	x.Emit(kpev.Trampoline, a[1], uint64(e.pointer(x, arch.Addr(a[1]))), 0)
}
