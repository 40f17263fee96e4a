package native

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// A program is some instructions from codeAt on.
type program struct {
	mode  x86.Mode
	code  []byte
	insts []x86.Inst
	at    [maxCode]int8 // by offset: the number of the instruction that begins there, plus 1
	masks [][64]uint64  // by instruction and low bits of CL: flags left undefined, plus known
}

const (
	maxCode = 128
	known   = 1 << 63
)

func (p *program) reset(mode x86.Mode) {
	*p = program{mode: mode, code: p.code[:0], insts: p.insts[:0], masks: p.masks[:0]}
}

func (p *program) add(in x86.Inst) {
	p.insts = append(p.insts, in)
	p.masks = append(p.masks, [64]uint64{})
	raw := in.Raw()
	p.at[len(p.code)] = int8(len(p.insts))
	p.code = append(p.code, raw[:in.Len]...)
}

// undefined is UndefinedFlags, remembered: it depends on nothing but CL.
func (p *program) undefined(i int, s *arch.Regs) uint64 {
	m := &p.masks[i][s.R[x86.RCX]&63]
	if *m == 0 {
		*m = p.insts[i].UndefinedFlags(s) | known
	}
	return *m &^ known
}

// An ending is how a program ended.
type ending struct {
	s         arch.Regs
	trap      int    // the vector of an exception; -1: control left the code
	undefined uint64 // flags that may be anything
	cr2       uint64 // of a page fault
	fs, gs    uint64
	dropped   string // why it isn't compared
	onlyAMD   bool   // Intel's processors do otherwise
	overlap   bool   // a family of AMD's does otherwise, wrongly
}

// Vectors (SDM vol. 3, table 6-1).
const (
	vectorDE, vectorDB, vectorBP, vectorOF, vectorBR, vectorUD, vectorSS, vectorGP, vectorPF = 0, 1, 3, 4, 5, 6, 12, 13,
		14
)

var vectors = [...]int{
	arch.Breakpoint: vectorBP, arch.DebugTrap: vectorDB, arch.Overflow: vectorOF, arch.Undefined: vectorUD,
	arch.PageFault:   vectorPF,
	arch.DivideError: vectorDE, arch.Protection: vectorGP, arch.Bound: vectorBR,
}

const maxSteps = 3000

// interpret executes the program with Exec. What must not be tried on the
// processor is dropped.
func (g *guest) interpret(p *program, s arch.Regs, e *ending) {
	g.astray = false
	g.sys.FSBase, g.sys.GSBase = basesOf(p.mode)
	*e = ending{s: s, trap: -1}
	r := &e.s
	for range maxSteps {
		off := r.IP - codeAt
		if off >= arch.Addr(len(p.code)) {
			e.fs, e.gs = g.sys.FSBase, g.sys.GSBase
			e.dropped = g.landing(p.mode, r.IP)
			return
		}
		i := p.at[off]
		if i == 0 {
			e.dropped = "jumps into an instruction"
			return
		}
		in := &p.insts[i-1]
		e.undefined = p.undefined(int(i-1), r)
		if g.undefinedResult(in, r) {
			e.dropped = "undefined result"
			return
		}
		before := *r
		out := in.Exec(r, g)
		e.onlyAMD = e.onlyAMD || onlyAMD(in, &before, out)
		e.overlap = e.overlap || overlapLost(in, &before)
		if r.Flags&(x86.TF|ioplF|ntF|acF) != 0 || r.Flags&x86.IF == 0 {
			e.dropped = "flags that stop the processor"
			return
		}
		switch out {
		case arch.Next, arch.Relaxed, arch.Serialized, arch.Interrupts, arch.Masked:
			continue
		case arch.PageFault:
			e.trap, e.cr2 = vectorPF, uint64(g.fault)
			if !unmapped(p.mode, g.fault) {
				e.dropped = "touches the harness"
			}
		case arch.Breakpoint, arch.DebugTrap, arch.Overflow, arch.Undefined, arch.DivideError, arch.Protection,
			arch.Bound:
			e.trap = vectors[out]
		default:
			e.dropped = "outcome " + out.String()
		}
		e.fs, e.gs = g.sys.FSBase, g.sys.GSBase
		return
	}
	e.dropped = "runs for long"
}

// undefinedResult asks only those that can have one.
func (g *guest) undefinedResult(in *x86.Inst, s *arch.Regs) bool {
	raw := in.Raw()
	for _, b := range raw[:3] {
		if b == 0x66 {
			return in.UndefinedResult(s)
		}
	}
	return false
}

// landing says why code mustn't go to an address; "": a pad, a breakpoint or a
// place where no code can be.
func (g *guest) landing(mode x86.Mode, a arch.Addr) string {
	switch {
	case a-textAt < textSize:
		if g.text[a-textAt] == filler || g.padAt(a) {
			return ""
		}
		return "jumps into a pad"
	case a>>47 != 0:
		// Intel's fault at the jump, AMD's at the target (AMD64 manual, vol. 2, 4.5.1).
		return "vendors differ on jumps to addresses that aren't canonical"
	case unmapped(mode, a), a-dataAt < pageSize, a-stackAt < pageSize, a-lowAt < pageSize: // not executable
		return ""
	}
	return "jumps into the harness"
}

func (g *guest) padAt(a arch.Addr) bool {
	if a >= farPads {
		return (a-farPads)%padSize == 0 && a < farPads+farPadCount*padSize
	}
	for _, s := range g.dirty {
		if s.at == a {
			return true
		}
	}
	return false
}

// unmapped reports whether there is surely nothing at an address, in the process
// of the harness and in that of a 32-bit program.
func unmapped(mode x86.Mode, a arch.Addr) bool {
	switch {
	case a < 0x1_0000, a >= 0x5200_0000 && a < 0xd000_0000:
		return true // and the guest has no page there, or it wouldn't have faulted
	case mode == x86.Mode64:
		return a >= 0xd000_0000 && a < 0x1_0000_0000 || a>>47 != 0 && a>>12 != 0xffff_ffff_ff60_0
	}
	return false
}
