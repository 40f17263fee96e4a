package kprobes

import (
	"bytes"
	"strings"

	"kpsim/engine/ftrace"
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A probedText decides what can be probed, as check_kprobe_address_safe and can_probe do.
type probedText struct {
	*env `state:"boot"` // set at New
	// owned by kprobe_mutex: the result of recoverProbedInstruction
	code []byte `state:"skip: the routine that has recovered it has read the text"`
	// owned by kprobe_mutex
	looked looked `state:"skip: a copy of text and what follows from it, made anew if the text is another"`
}

// looked is the function that the rules examined last.
type looked struct {
	judge   rules.Judge                  // owned by kprobe_mutex
	kernel  rules.Kernel                 // owned by kprobe_mutex
	of      kapi.Function                // owned by kprobe_mutex
	code    []byte                       // owned by kprobe_mutex: its bytes, and some after it
	plain   bool                         // owned by kprobe_mutex: there are no sites and no exception table
	found   []kapi.Site                  // owned by kprobe_mutex
	sites   []rules.Site                 // owned by kprobe_mutex
	extable []int                        // owned by kprobe_mutex
	thunks  [rules.MostThunks]rules.Span // owned by kprobe_mutex
	breaks  []int                        // owned by kprobe_mutex: where a debugger's breakpoints stand
}

// kprobeAddr returns the address of a probe (spec 6.1).
func (pt *probedText) kprobeAddr(p *Kprobe) (arch.Addr, error) {
	both := p.Symbol != "" && p.Addr != 0
	if both || p.Symbol == "" && p.Addr == 0 {
		return 0, EINVAL
	}
	at := p.Addr
	if p.Symbol != "" {
		f, ok := pt.d.Symbols.Named(p.Symbol)
		switch {
		case ok:
			at = f.Addr
		case pt.s.Kernel.Edition == rules.Edition26:
			return 0, EINVAL
		default:
			return 0, ENOENT
		}
	}
	if at += arch.Addr(p.Offset); at == 0 {
		return 0, EINVAL
	}
	return at, nil
}

// prepareKprobe makes an aggr for addr if addr can be probed (spec 6.2). post is true if the
// first probe there has a post_handler. Context: kprobe_mutex and text_mutex held, because a
// patcher's half-written instruction would be decoded as something else.
func (e *Engine) prepareKprobe(x kapi.Context, addr arch.Addr, post bool) (*Aggr, error) {
	v, code, err := e.text.checkKprobeAddress(x, addr)
	if err != nil {
		return nil, err
	}
	ap := e.Table.newAggr(addr)
	ap.armed.Init(e.d.Cells, false)
	ap.optimized.Init(e.d.Cells, false)
	ap.probes.Init(e.d.Cells, nil)
	if err := e.archPrepareKprobe(x, ap, v, code, post); err != nil {
		return nil, err
	}
	e.Table.aggrs = append(e.Table.aggrs, ap)
	return ap, nil
}

// checkKprobeAddress asks the rules whether addr can be probed, and returns the bytes from
// there on. Context: as prepareKprobe.
func (pt *probedText) checkKprobeAddress(x kapi.Context, addr arch.Addr) (v rules.Verdict, code []byte, err error) {
	pt.d.Symbols.Look(x)
	f, known := pt.d.Symbols.Lookup(addr)
	// its symbols are still there, or already
	gone := f.Module != "" && !pt.e.modules.held && pt.d.Modules != nil && pt.d.Modules.Known(f.Module)
	// since 5.18 (cc66bb914578)
	if (gone || !known) && pt.s.Kernel.Edition >= rules.Edition514 && pt.s.Return < era.ReturnHashed {
		return v, nil, ENOENT
	}
	if gone {
		return v, nil, EINVAL
	}
	if !known {
		f.Addr, f.Size = addr, 1
	}
	if pt.kretprobeBlacklisted(&f) || f.Addr == pt.e.Rethook.trampoline {
		return v, nil, EINVAL
	}
	kind := pt.d.Symbols.Kind(f.Addr)
	code = pt.recoverProbedInstruction(x, f)
	pt.loadFunction(x, f, kind, code)
	if v = pt.canProbe(int(addr - f.Addr)); v.Errno != 0 {
		return v, nil, Errno(-v.Errno)
	}
	return v, code[addr-f.Addr:], nil
}

// loadFunction makes the rules examine a function, unless it is the one that they examined
// last: most runs have only one. Context: kprobe_mutex held.
func (pt *probedText) loadFunction(x kapi.Context, f kapi.Function, kind kapi.TextKind, code []byte) {
	s := pt.d.Symbols
	ban := pt.banned(&f)
	l := &pt.looked
	pt.findDebugger(x, f.Addr, code)
	plain := kind == kapi.TextCore && ban == kapi.BanNone && !s.Reserved(f.Addr, len(code)) &&
		!s.Extable(f.Addr, f.Size) && len(l.breaks) == 0
	if plain && l.plain && l.kernel == pt.s.Kernel && l.of == f && bytes.Equal(l.code, code) {
		return
	}
	l.plain, l.kernel, l.of, l.code = plain, pt.s.Kernel, f, append(l.code[:0], code...)
	l.sites, l.extable = l.sites[:0], l.extable[:0]
	if !plain {
		pt.loadFacts(f)
	}
	named := f.Name != ""
	l.judge.Load(&l.kernel, &rules.Function{
		Name: f.Name, Addr: f.Addr, Size: f.Size, Code: l.code, Sites: l.sites, Extable: l.extable, Thunks: pt.thunks(),
		Debugger:    l.breaks,
		Blacklisted: ban != kapi.BanNone && (pt.s.Kernel.Edition != rules.Edition26 || ban == kapi.BanSection),
		InitFreed:   kind == kapi.TextFreed && f.Module != "",
		NoSymbol:    !named,
		NotText:     kind == kapi.TextNone || kind == kapi.TextData || kind == kapi.TextFreed && f.Module == "",
	})
}

// findDebugger notes where a debugger's breakpoints stand in a function's bytes. Context:
// text_mutex held, so that none comes or goes.
func (pt *probedText) findDebugger(x kapi.Context, at arch.Addr, code []byte) {
	l := &pt.looked
	l.breaks = l.breaks[:0]
	if pt.d.Debugger == nil {
		return
	}
	for i, b := range code {
		if b == pt.cpu.Breakpoint[0] && pt.d.Debugger(x, at+arch.Addr(i)) {
			l.breaks = append(l.breaks, i)
		}
	}
}

// banned returns why a function refuses probes. If a function refuses probes, so do parts that
// the compiler split off it, as name.part.0: kernels of 6.1 and 6.12 answer so.
func (pt *probedText) banned(f *kapi.Function) kapi.Ban {
	s := pt.d.Symbols
	ban := s.Banned(f.Addr)
	if base, _, split := strings.Cut(f.Name, "."); split && ban == kapi.BanNone &&
		pt.s.Kernel.Edition >= rules.Edition514 {
		if first, ok := s.Named(base); ok {
			return s.Banned(first.Addr)
		}
	}
	return ban
}

// thunks returns where the kernel's thunks for indirect jumps are.
func (pt *probedText) thunks() []rules.Span {
	return pt.s.Kernel.Thunks(pt.looked.thunks[:0], func(name string) (rules.Span, bool) {
		f, ok := pt.d.Symbols.Named(name)
		return rules.Span{Start: f.Addr, End: f.Addr + arch.Addr(f.Size)}, ok
	})
}

// loadFacts asks for the facts of each byte.
func (pt *probedText) loadFacts(f kapi.Function) {
	l := &pt.looked
	l.found = pt.d.Symbols.Sites(l.found[:0], f.Addr, len(l.code))
	for _, s := range l.found {
		l.sites = append(l.sites, rules.Site{Offset: int(s.Addr - f.Addr), Len: s.Size, Kind: rules.SiteKind(s.Kind)})
	}
	for i := range f.Size {
		if pt.d.Symbols.Extable(f.Addr+arch.Addr(i), 1) {
			l.extable = append(l.extable, i)
		}
	}
}

// canProbe asks the rules about a byte of the loaded function. A separate setting decides
// whether instruction boundaries are checked.
func (pt *probedText) canProbe(offset int) rules.Verdict {
	j := &pt.looked.judge
	if pt.s.AnyByte {
		return j.AtAny(offset)
	}
	v := j.At(offset)
	if v.Errno == 0 && pt.s.Kernel.Edition == rules.Edition26 && !j.Boundary(offset) {
		v.Errno = -int(EILSEQ)
	}
	return v
}

// recoverProbedInstruction returns the original bytes of a function, and enough bytes after it
// for its last instruction: the bytes in memory, with those that probes have written undone.
// Context: kprobe_mutex held.
func (pt *probedText) recoverProbedInstruction(x kapi.Context, f kapi.Function) []byte {
	size := f.Size + pt.cpu.MaxLen - 1
	if cap(pt.code) < size {
		pt.code = make([]byte, size)
	}
	code := pt.code[:size]
	clear(code[f.Size:]) // there may be no memory after it
	pt.d.Text.Read(x, f.Addr, code)
	if pt.d.Ftrace != nil {
		pt.recoverSites(f.Addr, code)
	}
	for off := pt.row.written(pt.cpu, code, 0); off < len(code); off = pt.row.written(pt.cpu, code, off+1) {
		q, ok := pt.e.Table.probes.Owned(f.Addr + arch.Addr(off))
		switch {
		case !ok:
		case q.jumped:
			if pt.do.Register.RecoverOptprobed(pt.e, q) {
				copy(code[off:], q.orig[:pt.cpu.BranchLen])
			}
		case q.armed.Owned():
			copy(code[off:], q.orig[:len(pt.row.breakpoint(q.orig[:]))])
		}
	}
	return code
}

// recoverSites puts nops where ftrace may have written calls.
func (pt *probedText) recoverSites(at arch.Addr, code []byte) {
	l := &pt.looked
	l.found = pt.d.Symbols.Sites(l.found[:0], at, len(code))
	for _, s := range l.found {
		if s.Kind != ftrace.Site {
			continue
		}
		for i, c := range pt.cpu.BranchNop.Bytes() {
			if off := int(s.Addr-at) + i; off >= 0 && off < len(code) {
				code[off] = c
			}
		}
	}
}

// archAdjustKprobeAddr returns the address at which a probe at addr is placed: a function's
// first instruction is the one after its endbr64 (5.18 and later, with IBT). entry reports
// whether the probe is at the first instruction, or on ppc64le anywhere from the global entry point to the local one.
func (pt *probedText) archAdjustKprobeAddr(x kapi.Context, addr arch.Addr) (to arch.Addr, entry bool) {
	if pt.s.Kernel.Edition < rules.Edition514 {
		return addr, false
	}
	f, ok := pt.d.Symbols.Lookup(addr)
	if !ok {
		return addr, false
	}
	if _, near := rules.LocalEntry(&pt.s.Kernel, nil, pt.siteIn(f)); near > 0 {
		return addr, addr-f.Addr <= arch.Addr(near)
	}
	first := f.Addr
	if pt.s.Kernel.IBT && addr-first <= 4 {
		first += arch.Addr(rules.Entry(&pt.s.Kernel, pt.recoverProbedInstruction(x, f)))
	}
	if addr == f.Addr {
		return first, true
	}
	return addr, addr == first
}

// localEntry returns how far after a function's address a probe of its symbol is placed: where calls within the kernel
// enter it, or where ftrace has its site (kprobe_lookup_name of powerpc, which takes a function whose first instruction
// is a breakpoint for one that has no such place).
func (pt *probedText) localEntry(x kapi.Context, p *Kprobe, at arch.Addr) arch.Addr {
	if _, near := rules.LocalEntry(&pt.s.Kernel, nil, -1); near == 0 || p.Symbol == "" || p.Offset != 0 {
		return 0
	}
	f, ok := pt.d.Symbols.Lookup(at)
	if !ok {
		return 0
	}
	off, _ := rules.LocalEntry(&pt.s.Kernel, pt.recoverProbedInstruction(x, f)[:f.Size], pt.siteIn(f))
	return arch.Addr(off)
}

// siteIn returns how far after a function's start ftrace's first site in it is, -1 if it has none.
func (pt *probedText) siteIn(f kapi.Function) int {
	l := &pt.looked
	l.found = pt.d.Symbols.Sites(l.found[:0], f.Addr, f.Size)
	for _, s := range l.found {
		if s.Kind == ftrace.Site {
			return int(s.Addr - f.Addr)
		}
	}
	return -1
}

// archPrepareKprobe fills in an aggr from the rules' verdict on its text. It makes an
// out-of-line copy of the instruction unless ftrace calls the aggr. Context: as prepareKprobe.
func (e *Engine) archPrepareKprobe(x kapi.Context, ap *Aggr, v rules.Verdict, code []byte, post bool) error {
	ap.verdict = v
	copy(ap.orig[:], code)
	e.do.Register.SaveOpcode(x, ap)
	if v.Ftrace {
		return nil
	}
	if in, err := e.d.Text.Decode(code, ap.addr); err == nil { // otherwise only the kernel takes it for one
		ap.insn = in
	}
	return e.slots.archCopyKprobe(x, ap, post)
}

// archArmKprobe writes the breakpoint.
func (e *Engine) archArmKprobe(x kapi.Context, ap *Aggr) {
	e.do.Arm.WriteProbe(e, x, ap.addr, e.row.breakpoint(ap.orig[:]))
	if !e.row.stops && !e.row.local {
		e.d.Sync.Core(x, kpev.SyncArm)
	}
}

// archDisarmKprobe writes the original first byte, or where breakpoints are longer all that the
// breakpoint replaces. Context: text_mutex held.
func (e *Engine) archDisarmKprobe(x kapi.Context, ap *Aggr) {
	x.Emit(kpev.Disarm, uint64(ap.addr), 0, 0)
	e.do.Arm.RestoreOpcode(e, x, ap)
	if !e.row.stops && !e.row.local {
		e.d.Sync.Core(x, kpev.SyncDisarm)
	}
	ap.armed.WriteOnce(x, false)
}

// restoreOpcode writes the original bytes over the breakpoint.
func (e *Engine) restoreOpcode(x kapi.Context, ap *Aggr) {
	e.do.Arm.WriteProbe(e, x, ap.addr, ap.orig[:len(e.row.breakpoint(ap.orig[:]))])
}

// writeProbe writes a breakpoint or what it has replaced: a byte under running CPUs (text_poke), a word under them
// (patch_instruction of powerpc), or
// an instruction while the machine is stopped (patch_text of riscv, aarch64_insn_patch_text).
// Context: text_mutex held.
func (e *Engine) writeProbe(x kapi.Context, at arch.Addr, b []byte) {
	if !e.row.stops {
		e.d.Text.Poke(x, at, b)
		return
	}
	e.patch.at, e.patch.insn = at, b
	e.d.Stop.Machine(x, e.patch.onStop)
}

// patchText is what is written while the machine is stopped (patch_insn).
type patchText struct {
	// owned by text_mutex
	at arch.Addr `state:"skip: follows from what its writer has read, who waits until it is done"`
	// owned by text_mutex
	insn   []byte               `state:"skip: as at"`
	onStop func(x kapi.Context) `state:"boot"` // set at New
}

// archRemoveKprobe frees the aggr's slot and detour.
func (e *Engine) archRemoveKprobe(x kapi.Context, ap *Aggr) {
	if ap.detour.size != 0 {
		e.d.Exec.Retire(x, ap.detour.addr, ap.detour.size, kpev.DetourMem)
		ap.detour = detour{}
	}
	if ap.slot.ID() != 0 { // one at a site of ftrace has no slot
		e.slots.freeInsnSlot(x, ap.slot.Owned())
		ap.slot.Put(x, insnSlot{})
	}
}
