package kprobes

import (
	"bytes"
	"strings"

	"kpsim/engine/ftrace"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// kprobeAddr returns where a probe is to go (spec 6.1).
func (e *Engine) kprobeAddr(k *Kprobe) (arch.Addr, error) {
	both := k.Symbol != "" && k.Addr != 0
	if both || k.Symbol == "" && k.Addr == 0 {
		return 0, EINVAL
	}
	at := k.Addr
	if k.Symbol != "" {
		f, ok := e.d.Symbols.Named(k.Symbol)
		switch {
		case ok:
			at = f.Addr
		case e.s.Kernel.Edition == rules.Edition26:
			return 0, EINVAL
		default:
			return 0, ENOENT
		}
	}
	if at += arch.Addr(k.Offset); at == 0 {
		return 0, EINVAL
	}
	return at, nil
}

// prepareKprobe makes an aggr of addr if it can be probed (spec 6.2). post: the first
// probe there has a post_handler. Context: kprobe_mutex and text_mutex held: a
// patcher's half-written instruction would be decoded as something else.
func (e *Engine) prepareKprobe(x kapi.Context, addr arch.Addr, post bool) (*Aggr, error) {
	v, code, err := e.checkKprobeAddress(x, addr)
	if err != nil {
		return nil, err
	}
	p := e.newAggr(addr)
	p.armed.Init(e.d.Cells, false)
	p.optimized.Init(e.d.Cells, false)
	p.probes.Init(e.d.Cells, nil)
	if err := e.archPrepareKprobe(x, p, v, code, post); err != nil {
		return nil, err
	}
	e.aggrs = append(e.aggrs, p)
	return p, nil
}

// checkKprobeAddress asks the rules whether addr can be probed, and returns the bytes from
// there on. Context: as prepareKprobe.
func (e *Engine) checkKprobeAddress(x kapi.Context, addr arch.Addr) (v rules.Verdict, code []byte, err error) {
	e.d.Symbols.Look(x)
	f, known := e.d.Symbols.Lookup(addr)
	if f.Module != "" && !e.held && e.d.Modules != nil && e.d.Modules.Known(f.Module) { // it has its names still, or already
		return v, nil, EINVAL
	}
	if !known {
		f.Addr, f.Size = addr, 1
	}
	if e.kretprobeBlacklisted(&f) || f.Addr == e.ret.trampoline {
		return v, nil, EINVAL
	}
	kind := e.d.Symbols.Kind(f.Addr)
	code = e.recoverProbedInstruction(x, f)
	e.loadFunction(f, kind, code)
	if v = e.canProbe(int(addr - f.Addr)); v.Errno != 0 {
		return v, nil, Errno(-v.Errno)
	}
	return v, code[addr-f.Addr:], nil
}

// archPrepareKprobe makes an aggr what the rules have said of its text, with an out-of-line
// copy of its instruction unless ftrace calls it. Context: as prepareKprobe.
func (e *Engine) archPrepareKprobe(x kapi.Context, p *Aggr, v rules.Verdict, code []byte, post bool) error {
	p.verdict = v
	copy(p.orig[:], code)
	if v.Ftrace {
		return nil
	}
	in, _ := e.d.Text.Decode(code, p.addr)
	p.insn, _ = in.(*x86.Inst) // nil: the kernel takes it for an instruction, and it is none
	return e.archCopyKprobe(x, p, post)
}

// canProbe asks the rules about a byte of the function that was loaded. Whether
// boundaries are looked at is a setting of its own.
func (e *Engine) canProbe(offset int) rules.Verdict {
	j := &e.looked.judge
	if e.s.AnyByte {
		return j.AtAny(offset)
	}
	v := j.At(offset)
	if v.Errno == 0 && e.s.Kernel.Edition == rules.Edition26 && !j.Boundary(offset) {
		v.Errno = -int(EILSEQ)
	}
	return v
}

// archAdjustKprobeAddr returns where a probe at addr goes: a function's first instruction
// is the one after its endbr64 (5.18 and later, with IBT). entry is whether it
// is that.
func (e *Engine) archAdjustKprobeAddr(x kapi.Context, addr arch.Addr) (to arch.Addr, entry bool) {
	if e.s.Kernel.Edition < rules.Edition514 {
		return addr, false
	}
	f, ok := e.d.Symbols.Lookup(addr)
	if !ok {
		return addr, false
	}
	first := f.Addr
	if e.s.Kernel.IBT && addr-first <= 4 {
		first += arch.Addr(rules.Entry(&e.s.Kernel, e.recoverProbedInstruction(x, f)))
	}
	if addr == f.Addr {
		return first, true
	}
	return addr, addr == first
}

// loadFunction has the rules look at a function, if it isn't the one that they looked at
// last: most runs have one. Context: kprobe_mutex held.
func (e *Engine) loadFunction(f kapi.Function, kind kapi.TextKind, code []byte) {
	s := e.d.Symbols
	ban := s.Banned(f.Addr)
	plain := kind == kapi.TextCore && ban == kapi.BanNone && !s.Reserved(f.Addr, len(code)) && !s.Extable(f.Addr, f.Size)
	l := &e.looked
	if plain && l.plain && l.kernel == e.s.Kernel && l.of == f && bytes.Equal(l.code, code) {
		return
	}
	l.plain, l.kernel, l.of, l.code = plain, e.s.Kernel, f, append(l.code[:0], code...)
	l.sites, l.extable = l.sites[:0], l.extable[:0]
	if !plain {
		e.loadFacts(f)
	}
	named := f.Name != ""
	l.judge.Load(&l.kernel, &rules.Function{
		Name: f.Name, Addr: f.Addr, Size: f.Size, Code: l.code, Sites: l.sites, Extable: l.extable, Thunks: e.thunks(),
		Blacklisted: ban != kapi.BanNone && (e.s.Kernel.Edition != rules.Edition26 || ban == kapi.BanSection),
		InitFreed:   kind == kapi.TextFreed && f.Module != "",
		NoSymbol:    !named,
		NotText:     kind == kapi.TextNone || kind == kapi.TextData || kind == kapi.TextFreed && f.Module == "",
	})
}

// The symbols around a kernel's thunks for indirect jumps.
const (
	thunksFrom = "__indirect_thunk_start"
	thunksTo   = "__indirect_thunk_end"
)

// thunkNames are those of the thunks: one a register, and that for returns.
var thunkNames = func() (names [17]string) {
	for i, r := range strings.Fields("rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15") {
		names[i] = "__x86_indirect_thunk_" + r
	}
	names[16] = "__x86_return_thunk"
	return names
}()

// thunks returns where they are, if there are any: a jump there is an indirect one. They
// lie together, with a symbol at each end, or are found by their names.
func (e *Engine) thunks() []rules.Span {
	if !e.s.Kernel.Retpoline {
		return nil
	}
	from, ok := e.d.Symbols.Named(thunksFrom)
	to, too := e.d.Symbols.Named(thunksTo)
	spans := e.looked.thunks[:0]
	if ok && too {
		return append(spans, rules.Span{Start: from.Addr, End: to.Addr})
	}
	for _, name := range thunkNames {
		if f, ok := e.d.Symbols.Named(name); ok {
			spans = append(spans, rules.Span{Start: f.Addr, End: f.Addr + arch.Addr(f.Size)})
		}
	}
	return spans
}

// loadFacts asks for the facts of each byte.
func (e *Engine) loadFacts(f kapi.Function) {
	l := &e.looked
	l.found = e.d.Symbols.Sites(l.found[:0], f.Addr, len(l.code))
	for _, s := range l.found {
		l.sites = append(l.sites, rules.Site{Offset: int(s.Addr - f.Addr), Len: s.Size, Kind: rules.SiteKind(s.Kind)})
	}
	for i := range f.Size {
		if e.d.Symbols.Extable(f.Addr+arch.Addr(i), 1) {
			l.extable = append(l.extable, i)
		}
	}
}

// recoverProbedInstruction returns the bytes of a function as the image had them, and those
// after it which its last instruction may have: what is in memory, less what
// probes have written there. Context: kprobe_mutex held.
func (e *Engine) recoverProbedInstruction(x kapi.Context, f kapi.Function) []byte {
	size := f.Size + x86.MaxLen - 1
	if cap(e.code) < size {
		e.code = make([]byte, size)
	}
	code := e.code[:size]
	clear(code[f.Size:]) // there may be no memory after it
	e.d.Text.Read(x, f.Addr, code)
	if e.d.Ftrace != nil {
		e.recoverSites(f.Addr, code)
	}
	for off, c := range code {
		if c != x86.Int3 && c != jumpOpcode {
			continue
		}
		q, ok := e.table.Peek(f.Addr + arch.Addr(off))
		switch {
		case !ok:
		case q.jumped:
			copy(code[off:], q.orig[:jumpSize])
		case q.armed.Peek():
			code[off] = q.orig[0]
		}
	}
	return code
}

// recoverSites puts nops where ftrace may have written calls.
func (e *Engine) recoverSites(at arch.Addr, code []byte) {
	l := &e.looked
	l.found = e.d.Symbols.Sites(l.found[:0], at, len(code))
	for _, s := range l.found {
		if s.Kind != ftrace.Site {
			continue
		}
		for i, c := range x86.Nop5 {
			if off := int(s.Addr-at) + i; off >= 0 && off < len(code) {
				code[off] = c
			}
		}
	}
}
