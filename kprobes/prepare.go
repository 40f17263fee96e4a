package kprobes

import (
	"bytes"
	"strings"

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
	if (gone || !known) && pt.s.Kernel.Edition >= rules.Edition514 {
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
		if b == int3[0] && pt.d.Debugger(x, at+arch.Addr(i)) {
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
