package uprobe

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

var (
	callUnsynced = kapi.DefineFault("uprobe-call-unsynced",
		"the nop becomes a call, and the call a nop, without a sync between the stores",
		"int3_update: smp_text_poke_sync_each_cpu, since 6.18")
	callTorn = kapi.DefineFault("uprobe-call-torn",
		"the nop is put back over the call at once, without a breakpoint before it",
		"swbp_unoptimize: int3_update, since 6.18")
	callBlind = kapi.DefineFault("uprobe-call-blind",
		"the nop is put back as if a breakpoint stood there: its first byte only, over that of a call",
		"set_orig_insn: is_optimized, since 6.18")
)

// A nop is the uprobe's instruction where it is a nop of five bytes that a call replaces after the first hit (since
// 6.18). It is text that tasks run in user mode. The zero value: there is none.
type nop struct {
	at   arch.Addr // set at boot
	insn []byte    // set at boot
	call []byte    // set at boot: to the system call
}

func (n *nop) there() bool { return n.at != 0 }

// AddNop declares, at boot, that the uprobe's instruction is the nop of five bytes at an address.
func (u *Uprobes) AddNop(at arch.Addr, insn []byte) {
	if u.nop.there() {
		return
	}
	entry := u.d.Boot.BootBind("uprobe system call", func(x kapi.Context, _ *arch.Regs) { u.syscall(x) })
	call, ok := u.d.Arch.Call(at, entry)
	if !ok {
		panic("uprobe: the system call is out of reach")
	}
	u.at, u.nop = at, nop{at: at, insn: insn, call: call.Bytes()}
}

// Images calls f with the instructions that may stand at the uprobe.
func (u *Uprobes) Images(f func(at arch.Addr, insn []byte)) {
	if u.nop.there() {
		f(u.nop.at, u.nop.insn)
		f(u.nop.at, u.nop.call)
	}
}

// run makes a task call the function that begins with the nop, in user mode. Context: a task's program.
func (u *Uprobes) run(x kapi.Context, t *utask) {
	at := uint64(u.at)
	x.Emit(smpev.Uprobe, at, smpev.UprobeHit, 0)
	u.d.Traps.RunUser(x, u.at)
	if !t.emulated {
		x.Emit(smpev.Uprobe, at, smpev.UprobePasses, 0)
	}
	x.Emit(smpev.Uprobe, at, smpev.UprobeDone, at+uint64(len(u.nop.insn)))
}

// firstByte reads the first byte at the uprobe.
func (u *Uprobes) firstByte(x kapi.Context) byte {
	var b [1]byte
	u.d.Text.Read(x, u.at, b[:])
	return b[0]
}

// emulate makes a task continue after the nop (arch_uprobe_skip_sstep).
func (u *Uprobes) emulate(x kapi.Context, t *utask, regs *arch.Regs) {
	x.Emit(smpev.Uprobe, uint64(u.at), smpev.UprobeEmulates, 0)
	t.emulated = true
	if regs != nil {
		regs.IP = u.at + arch.Addr(len(u.nop.insn))
	}
}

// syscall is the system call of the call that stands in place of the nop (handle_syscall_uprobe). Without a uprobe it
// does nothing, as the nop. Context: may sleep.
func (u *Uprobes) syscall(x kapi.Context) {
	t := &u.tasks[x.Task()]
	x.Emit(smpev.Uprobe, uint64(u.at), smpev.UprobeEnters, 0)
	if u.users.any() && u.users.find(x, t) {
		u.users.chain(x, t)
	}
	u.emulate(x, t, nil)
}

// optimize replaces the breakpoint by the call, if it still stands (arch_uprobe_optimize). Context: may sleep.
func (u *Uprobes) optimize(x kapi.Context) {
	if !u.users.any() {
		return
	}
	p := &u.users.text[0]
	p.mmap.Lock(x)
	if u.firstByte(x) == u.d.Arch.Breakpoint[0] {
		x.Emit(smpev.Uprobe, uint64(u.at), smpev.UprobeToCall, 0)
		u.update(x, u.nop.call)
	}
	p.mmap.Unlock(x)
}

// rewrite makes the breakpoint stand at the nop, or puts the nop back (set_swbp, set_orig_insn). Where a byte is
// written the page is unmapped meanwhile, and flushing its translation makes CPUs serialise. Context: may sleep;
// mmap_lock held.
func (u *Uprobes) rewrite(x kapi.Context, stands bool) {
	switch {
	case stands:
		x.Emit(smpev.Uprobe, uint64(u.at), smpev.UprobeStands, 0)
		u.store(x, 0, u.d.Arch.Breakpoint)
		return
	case u.firstByte(x) == u.nop.call[0] && !u.d.Boot.Planted(callBlind):
		x.Emit(smpev.Uprobe, uint64(u.at), smpev.UprobeToNop, 0)
		if u.d.Boot.Planted(callTorn) {
			u.store(x, 0, u.nop.insn)
		} else {
			u.store(x, 0, u.d.Arch.Breakpoint)
			u.update(x, u.nop.insn)
		}
	default:
		u.store(x, 0, u.nop.insn[:1])
	}
	x.Emit(smpev.Uprobe, uint64(u.at), smpev.UprobeGone, 0)
}

// update replaces an instruction whose first byte is a breakpoint (int3_update).
func (u *Uprobes) update(x kapi.Context, insn []byte) {
	if u.d.Boot.Planted(callUnsynced) {
		u.d.Text.Write(x, u.at+1, insn[1:])
		u.d.Text.Write(x, u.at, insn[:1])
		return
	}
	u.store(x, 1, insn[1:])
	u.store(x, 0, insn[:1])
}

// store writes text at an offset of the instruction, and makes all CPUs serialise.
func (u *Uprobes) store(x kapi.Context, off arch.Addr, b []byte) {
	u.d.Text.Write(x, u.at+off, b)
	u.d.Sync.Core(x, smpev.SyncUprobe)
}
