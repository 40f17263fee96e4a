package survey

import (
	"bytes"
	"strings"

	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/image"
)

// A Survey is an object as a kernel sees it.
type Survey struct {
	Module *image.Module
	Kernel rules.Kernel
	Arch   *arch.Arch // nil: x86-64 or i386, by Kernel
	// OneCPU means that the machine has several CPUs and was booted with one. Then lock prefixes
	// were patched out, and are reserved until the second CPU comes online
	// (arch/x86/kernel/alternative.c, alternatives_text_reserved).
	OneCPU bool
	// NeverBoosts means that no copy gets a jump back, whatever the rules say.
	NeverBoosts bool
	// AnyByte disables the check of boundaries, as in 2.6. EachBoundary enables it, even in 2.6.
	AnyByte, EachBoundary bool

	judge  rules.Judge
	f      rules.Function
	thunks []rules.Span
	rows   []Row
}

// A Row is one instruction, or one byte where none begins.
type Row struct {
	rules.Verdict
	Bytes  []byte // the instruction's; one byte if none begins here. Read-only
	Inside bool   // the byte is inside the instruction of an earlier row
	// Padding reports that only fill (int3, nops or zeros) follows the function's last
	// instruction. The kernel judges it like everything else.
	Padding bool
}

// New begins a survey.
func New(m *image.Module, k rules.Kernel) *Survey {
	s := &Survey{Module: m, Kernel: k}
	for i := range m.Imports {
		if im := &m.Imports[i]; IsThunk(im.Name) {
			s.thunks = append(s.thunks, rules.Span{Start: im.Addr, End: im.End()})
		}
	}
	return s
}

// Processor returns the kernel's processor.
func (s *Survey) Processor() *arch.Arch {
	switch {
	case s.Arch != nil:
		return s.Arch
	case s.Kernel.Bits32:
		return x86.I386
	}
	return x86.AMD64
}

// Numbers reports whether instructions are numbers, of processors other than x86.
func (s *Survey) Numbers() bool { return s.Kernel.Decoder != rules.DecodesX86 }

// Addr converts a number to an address of that processor: 32-bit addresses wrap around.
func (s *Survey) Addr(a arch.Addr) arch.Addr {
	if s.Kernel.Bits32 {
		return arch.Addr(uint32(a))
	}
	return a
}

// IsThunk reports whether a name is one of the thunks for indirect jumps and returns
// (arch/x86/lib/retpoline.S).
func IsThunk(name string) bool {
	return strings.HasPrefix(name, "__x86_indirect_thunk_") || name == "__x86_return_thunk"
}

// Rows judges a function. There is a row for each instruction, in order, and for each
// byte where nothing decodes and after that; with every, also for each byte inside an
// instruction. The rows are valid until the next call.
func (s *Survey) Rows(sym *image.Symbol, every bool) []Row {
	s.load(sym)
	s.rows = s.rows[:0]
	for off := 0; off < sym.Size; {
		v := s.at(off)
		n := max(s.judge.Length(off), 1)
		s.rows = append(s.rows, Row{Verdict: v, Bytes: s.bytes(off, n)})
		for i := off + 1; every && i < min(off+n, sym.Size); i++ {
			s.rows = append(s.rows, Row{Verdict: s.at(i), Bytes: s.bytes(i, 1), Inside: true})
		}
		off += n
	}
	for i := len(s.rows) - 1; i >= 0 && s.isFill(&s.rows[i]); i-- {
		s.rows[i].Padding = true
	}
	return s.rows
}

// isFill reports whether assemblers, linkers or loaders fill gaps with this instruction. On i386
// that includes a lea of %esi from itself.
func (s *Survey) isFill(r *Row) bool {
	if r.Inside {
		return true
	}
	b := r.Bytes
	if s.Numbers() {
		nop := len(b)%s.Processor().Align == 0 && bytes.Equal(b, s.Processor().Nop(len(b)))
		return nop || bytes.Count(b, []byte{0}) == len(b)
	}
	for len(b) > 1 && (b[0] == 0x66 || b[0] == 0x2e) {
		b = b[1:]
	}
	if s.Kernel.Bits32 {
		for _, lea := range [...]string{"\x8d\x76", "\x8d\x74\x26", "\x8d\xb6", "\x8d\xb4\x26"} {
			if rest, ok := strings.CutPrefix(string(b), lea); ok && strings.Trim(rest, "\x00") == "" {
				return true
			}
		}
	}
	return b[0] == 0xcc || b[0] == 0x90 || b[0] == 0 && (len(b) == 1 || b[1] == 0) || len(b) > 1 && b[0] == 0x0f &&
		b[1] == 0x1f
}

// Row judges the byte at an offset of a function.
func (s *Survey) Row(sym *image.Symbol, off int) Row {
	s.load(sym)
	v := s.at(off)
	return Row{Verdict: v, Bytes: s.bytes(off, max(s.judge.Length(off), 1))}
}

// at judges a byte of the loaded function.
func (s *Survey) at(off int) rules.Verdict {
	v := s.judge.At(off)
	switch {
	case s.AnyByte:
		v = s.judge.AtAny(off)
	case s.EachBoundary && v.Errno == 0 && s.Kernel.Edition == rules.Edition26 && !s.judge.Boundary(off):
		v = rules.Verdict{Offset: off, Errno: -84, Why: s.judge.Inside(off)}
	}
	v.Boosted = v.Boosted && !s.NeverBoosts
	return v
}

func (s *Survey) bytes(off, n int) []byte {
	end := min(off+n, len(s.f.Code))
	return s.f.Code[off:end:end]
}

// load passes a function to the judge.
func (s *Survey) load(sym *image.Symbol) {
	f := &s.f
	*f = rules.Function{
		Name: sym.Name, Addr: sym.Addr, Size: sym.Size,
		Code:  s.Module.Bytes(sym.Addr, sym.Size+s.Processor().MaxLen-1),
		Sites: f.Sites[:0], Extable: f.Extable[:0], Thunks: s.thunks,
		Blacklisted: sym.Blacklisted, InitFreed: sym.Init,
	}
	// A region may extend beyond the function, over the beginning of the next.
	for _, site := range s.Module.SitesIn(sym.Addr, sym.End()+arch.Addr(s.Processor().MaxLen)) {
		off := int(site.Addr - sym.Addr)
		switch site.Kind {
		case image.SiteExtable:
			f.Extable = append(f.Extable, off)
		case image.SiteBug:
			f.Sites = append(f.Sites, rules.Site{Offset: off, Len: site.Len, Kind: rules.SiteBug})
		case image.SiteJumpLabel:
			f.Sites = append(f.Sites, rules.Site{Offset: off, Len: site.Len, Kind: rules.SiteJumpLabel})
		case image.SiteStaticCall:
			f.Sites = append(f.Sites, rules.Site{Offset: off, Len: site.Len, Kind: rules.SiteStaticCall})
		case image.SiteLock:
			if s.OneCPU {
				f.Sites = append(f.Sites, rules.Site{Offset: off, Len: site.Len, Kind: rules.SiteAlternative})
			}
		case image.SiteFentry:
			f.Sites = append(f.Sites, rules.Site{Offset: off, Len: site.Len, Kind: rules.SiteFentry})
		}
	}
	s.judge.Load(&s.Kernel, f)
}

// Totals are counts of instructions, without padding, and of the functions that have
// any.
type Totals struct {
	Functions, Instructions                    int
	Registrable, Boostable, Emulated, Jumpable int
	Ftrace                                     int
	Refused                                    map[int]int // by errno
	// WhyRefused counts the refused, WhyNotJumped the registrable but not optimizable.
	WhyRefused, WhyNotJumped map[rules.ReasonKind]int
}

// Add counts a function's rows.
func (t *Totals) Add(rows []Row) {
	if t.Refused == nil {
		t.Refused, t.WhyRefused, t.WhyNotJumped = make(map[int]int), make(map[rules.ReasonKind]int),
			make(map[rules.ReasonKind]int)
	}
	before := t.Instructions
	for i := range rows {
		r := &rows[i]
		if r.Inside || r.Padding {
			continue
		}
		t.Instructions++
		switch {
		case r.Errno != 0:
			t.Refused[r.Errno]++
			t.WhyRefused[r.Why.Kind]++
			continue
		case !r.Optimizable():
			t.WhyNotJumped[r.Why.Kind]++
		default:
			t.Jumpable++
		}
		t.Registrable++
		if r.Boosted {
			t.Boostable++
		}
		if r.Emulated {
			t.Emulated++
		}
		if r.Ftrace {
			t.Ftrace++
		}
	}
	if t.Instructions > before {
		t.Functions++
	}
}
