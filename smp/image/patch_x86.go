package image

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/image/objfile"
)

const (
	retpolineThunk = "__x86_indirect_thunk_" // and the register
	returnThunk    = "__x86_return_thunk"
	fentry         = "__fentry__" // what a function calls first, for ftrace
)

const callOpcode = 0xe8

// patch does to the text what a kernel does for good when it loads a module, in
// its order (arch/x86/kernel/module.c: module_finalize). Before that ftrace
// turns its calls into nops, and after it come static calls.
func (l *linked) patch() error {
	l.each(SiteFentry, l.fentry)
	l.each(SiteParavirt, l.paravirt)
	l.each(SiteRetpoline, l.retpoline)
	l.each(SiteReturn, l.ret)
	if err := l.alternatives(); err != nil {
		return err
	}
	l.each(SiteEndbr, l.endbr)
	if l.hasNamed("up") {
		l.each(SiteLock, l.unlock)
	}
	for i := range l.o.sites {
		if s := &l.o.sites[i]; s.kind == SiteStaticCall {
			if err := l.staticCall(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// each calls f with each site of a kind and its bytes.
func (l *linked) each(kind SiteKind, f func(s *rawSite, code []byte)) {
	for i := range l.o.sites {
		if s := &l.o.sites[i]; s.kind == kind {
			f(s, l.code(s))
		}
	}
}

func (l *linked) code(s *rawSite) []byte { return l.bytes[s.sec][s.off : s.off+s.n] }

func (l *linked) hasNamed(feature string) bool { return l.has[featureNumber(feature, l.version)] }

func (l *linked) addr(p place) arch.Addr { return l.at[p.sec] + arch.Addr(p.off) }

func (l *linked) fentry(s *rawSite, code []byte) {
	if code[0] == callOpcode && l.refers(s.sec, s.off+1) == fentry {
		copy(code, l.o.nops()[x86.JumpLen])
	}
}

// paravirt makes a call through pv_ops a direct one (6.1: apply_paravirt). The
// functions that natively do nothing, which would leave nops, aren't told apart.
func (l *linked) paravirt(s *rawSite, code []byte) {
	buf := slices.Clone(code)
	if l.pointerCall(buf, code, l.addr(s.place)) {
		l.fillOld(buf[x86.JumpLen:])
		copy(code, buf)
	}
}

// registers are in the order of their numbers.
var registers = strings.Fields("rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15")

// retpoline makes calls of and jumps to a thunk indirect again, on a processor
// that needs no retpolines (patch_retpoline).
func (l *linked) retpoline(s *rawSite, code []byte) {
	lfence := l.hasNamed("retpoline_lfence")
	if l.hasNamed("retpoline") && !lfence {
		return
	}
	thunk, ok := strings.CutPrefix(l.refers(s.sec, s.off+s.n-4), retpolineThunk)
	reg := slices.Index(registers, thunk)
	if !ok || reg < 0 {
		return
	}
	op := code[s.n-5]
	var b []byte
	if code[0] == 0x0f { // jcc: a jcc of the opposite condition over the jump
		b = append(b, 0x70|op&0xf^1, byte(s.n-2))
		op = 0xe9
	}
	if lfence {
		b = append(b, 0x0f, 0xae, 0xe8)
	}
	if reg >= 8 {
		b = append(b, 0x41) // rex.b
	}
	modrm := byte(0xd0) // call
	if op == 0xe9 {
		modrm = 0xe0 // jmp
	}
	b = append(b, 0xff, modrm|byte(reg&7))
	if op == 0xe9 && len(b) < s.n {
		b = append(b, x86.Int3)
	}
	if len(b) > s.n {
		return // a kernel leaves it, too
	}
	for len(b) < s.n {
		b = append(b, 0x90)
	}
	l.joinNops(b, l.addr(s.place))
	copy(code, b)
}

// ret makes a jump to the return thunk a ret, on a processor that may return
// plainly (patch_return).
func (l *linked) ret(s *rawSite, code []byte) {
	if code[0] == 0xe9 && l.refers(s.sec, s.off+1) == returnThunk && !l.hasNamed("rethunk") {
		copy(code, retInt3)
	}
}

var retInt3 = []byte{0xc3, x86.Int3, x86.Int3, x86.Int3, x86.Int3}

// endbr takes away the landing pad of a function that is never called
// indirectly (apply_seal_endbr).
func (l *linked) endbr(_ *rawSite, code []byte) {
	if bytes.Equal(code, []byte{0xf3, 0x0f, 0x1e, 0xfa}) {
		copy(code, []byte{0x66, 0x0f, 0x1f, 0x00})
	}
}

// unlock makes a lock prefix one that does nothing, on a machine of one
// processor (alternatives_smp_unlock): in .text, since 6.4 in all core text.
func (l *linked) unlock(s *rawSite, code []byte) {
	name := l.o.sections[s.sec].name
	if code[0] == 0xf0 && (name == ".text" || !isInit(name) && !l.version.Before(6, 4)) {
		code[0] = 0x3e // ds
	}
}

// staticCall writes what the key holds when a module is loaded, before its own
// init function runs (arch/x86/kernel/static_call.c): a call of the function; a
// nop, or a return, if it is NULL; and for a function that returns 0 just that.
func (l *linked) staticCall(s *rawSite) error {
	at, code := l.addr(s.place), l.code(s)
	name, to, null := l.staticTarget(s)
	if name == "" && !null {
		return nil // the trampoline is all that is known: it is called as it stands
	}
	if s.n == 6 { // jcc
		if null {
			return nil
		}
		jmp, ok := x86.JumpRel32(at+1, to)
		if !ok {
			return l.tooFar(s, name)
		}
		copy(code[2:], jmp[1:])
		return nil
	}
	var b [x86.JumpLen]byte
	ok := true
	switch {
	case null && s.tail && l.hasNamed("rethunk"):
		if l.returnThunk == nowhere {
			return nil // the trampoline, which is called as it stands, returns by it
		}
		b, ok = x86.JumpRel32(at, l.returnThunk)
	case null && s.tail:
		copy(b[:], retInt3)
	case null:
		b = x86.Nop5
	case s.tail:
		b, ok = x86.JumpRel32(at, to)
	case name == "__static_call_return0":
		b = [...]byte{0x2e, 0x2e, 0x2e, 0x31, 0xc0} // xor %eax,%eax
	default:
		b, ok = x86.CallRel32(at, to)
	}
	if !ok {
		return l.tooFar(s, name)
	}
	copy(code, b[:])
	return nil
}

func (l *linked) tooFar(s *rawSite, name string) error {
	return fmt.Errorf("%s: static call of %s is out of reach: place the two within 2 GiB of each other",
		l.o.where(s.sec, s.off), name)
}

// staticTarget returns which function a static call's key holds. That of a key
// of the module is in its data; the kernel's own are those of preemption.
func (l *linked) staticTarget(s *rawSite) (name string, to arch.Addr, null bool) {
	t := &l.o.targets[s.key]
	if t.place == loaded {
		off := int64(t.value) + s.keyOff
		relocs := l.o.sections[t.sec].relocs
		i, ok := slices.BinarySearchFunc(relocs, off, func(r objfile.Reloc, off int64) int {
			return cmp.Compare(int64(r.Off), off)
		})
		if !ok {
			return "", 0, true
		}
		b := l.bytes[t.sec]
		if off+8 > int64(len(b)) {
			return "", 0, false
		}
		return l.o.targets[relocs[i].Symbol].name, arch.Addr(binary.LittleEndian.Uint64(b[off:])), false
	}
	// A module names a key that isn't exported to it by its trampoline
	// (EXPORT_STATIC_CALL_TRAMP).
	switch key := strings.TrimPrefix(strings.TrimPrefix(t.name, "__SCT__"), "__SCK__"); key {
	case "preempt_schedule", "preempt_schedule_notrace":
		return "", 0, l.boot.Preempt != "full"
	case "might_resched", "cond_resched":
		if l.boot.Preempt == "full" || key == "might_resched" && l.boot.Preempt == "none" {
			return "__static_call_return0", l.symbols[s.key], false
		}
	}
	return "", 0, false
}

// keyName returns the symbol of a key, "" if only its section is named.
func (l *linked) keyName(s *rawSite) string {
	t := &l.o.targets[s.key]
	if t.place == loaded && t.name == l.o.sections[t.sec].name {
		return ""
	}
	return t.name
}

// sites returns all that the tables name, at its address.
func (l *linked) sites() []Site {
	order := ordered(len(l.o.sites), func(a, b int) int {
		s, t := &l.o.sites[a], &l.o.sites[b]
		return cmp.Or(cmp.Compare(l.addr(s.place), l.addr(t.place)), cmp.Compare(s.kind, t.kind))
	})
	all := make([]Site, 0, len(order))
	for _, i := range order {
		s := &l.o.sites[i]
		site := Site{Addr: l.addr(s.place), Len: s.n, Kind: s.kind, Tail: s.tail, Type: s.typ}
		switch s.kind {
		case SiteJumpLabel:
			site.Target, site.Name = l.addr(s.to), l.keyName(s)
		case SiteExtable:
			site.Target = l.addr(s.to)
		case SiteStaticCall:
			site.Name = l.keyName(s)
		case SiteRetpoline:
			site.Name = l.refers(s.sec, s.off+s.n-4)
		case SiteReturn:
			site.Name = l.refers(s.sec, s.off+1)
		case SiteAlternative:
			a := &l.o.alts[s.key]
			site.Name = featureName(a.feature, l.version)
			if a.inverted {
				site.Name = "!" + site.Name
			}
		}
		all = append(all, site)
	}
	return all
}
