package survey

import (
	"strings"

	"kpsim/kprobes/rules"
	"kpsim/smp/arch/x86"
	"kpsim/smp/image"
)

// A Survey is an object seen by a kernel.
type Survey struct {
	Module *image.Module
	Kernel rules.Kernel
	// OneCPU: the machine was booted with one CPU of several. Lock prefixes were
	// patched away then, and are reserved until the second one comes
	// (arch/x86/kernel/alternative.c, alternatives_text_reserved).
	OneCPU bool
	// NeverBoosts: no copy is given a jump back, whatever the rules say of it.
	NeverBoosts bool
	// AnyByte: no boundary is looked at, as in 2.6; EachBoundary: they are, in 2.6 too.
	AnyByte, EachBoundary bool

	judge  rules.Judge
	f      rules.Function
	thunks []rules.Span
	rows   []Row
}

// A Row is one instruction, or one byte where none begins.
type Row struct {
	rules.Verdict
	Bytes  []byte // of the instruction; one byte if none begins here. They may be read, not written
	Inside bool   // the byte lies inside the instruction of an earlier row
	// Padding: behind the function's last instruction nothing but fill follows,
	// int3, nops or zeros, which the kernel judges like all else.
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

// IsThunk tells the thunks that indirect jumps and returns are compiled to go
// through (arch/x86/lib/retpoline.S).
func IsThunk(name string) bool {
	return strings.HasPrefix(name, "__x86_indirect_thunk_") || name == "__x86_return_thunk"
}

// Rows judges a function: a row for each instruction of it, in order; where
// nothing decodes, and behind that, one for each byte; with every, one for each
// byte inside an instruction too. The rows are good until the next call.
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
	for i := len(s.rows) - 1; i >= 0 && isFill(&s.rows[i]); i-- {
		s.rows[i].Padding = true
	}
	return s.rows
}

// isFill reports whether an assembler, a linker or a loader fills gaps with it.
func isFill(r *Row) bool {
	if r.Inside {
		return true
	}
	b := r.Bytes
	for len(b) > 1 && (b[0] == 0x66 || b[0] == 0x2e) {
		b = b[1:]
	}
	return b[0] == 0xcc || b[0] == 0x90 || b[0] == 0 && (len(b) == 1 || b[1] == 0) || len(b) > 1 && b[0] == 0x0f && b[1] == 0x1f
}

// Row judges the byte at an offset of a function.
func (s *Survey) Row(sym *image.Symbol, off int) Row {
	s.load(sym)
	v := s.at(off)
	return Row{Verdict: v, Bytes: s.bytes(off, max(s.judge.Length(off), 1))}
}

// at judges a byte of the function that was loaded.
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

// load gives the judge a function.
func (s *Survey) load(sym *image.Symbol) {
	f := &s.f
	*f = rules.Function{
		Name: sym.Name, Addr: sym.Addr, Size: sym.Size,
		Code:  s.Module.Bytes(sym.Addr, sym.Size+x86.MaxLen-1),
		Sites: f.Sites[:0], Extable: f.Extable[:0], Thunks: s.thunks,
		Blacklisted: sym.Blacklisted, InitFreed: sym.Init,
	}
	// A region may end behind the function, and lie over what the next begins with.
	for _, site := range s.Module.SitesIn(sym.Addr, sym.End()+x86.MaxLen) {
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

// Totals are counts of instructions, without the padding, and of functions that
// have some.
type Totals struct {
	Functions, Instructions                    int
	Registrable, Boostable, Emulated, Jumpable int
	Ftrace                                     int
	Refused                                    map[int]int              // by errno
	WhyRefused, WhyNotJumped                   map[rules.ReasonKind]int // of those that are refused; of those that are registrable and aren't optimizable
}

// Add counts a function's rows.
func (t *Totals) Add(rows []Row) {
	if t.Refused == nil {
		t.Refused, t.WhyRefused, t.WhyNotJumped = make(map[int]int), make(map[rules.ReasonKind]int), make(map[rules.ReasonKind]int)
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
