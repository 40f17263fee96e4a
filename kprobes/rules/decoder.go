package rules

import (
	"cmp"

	"kpsim/smp/arch"
)

// A Decoder says whose view of instructions the kernel's probes have: x86's, which is this package's main
// part, or that of a processor whose instructions are numbers.
type Decoder uint8

// The decoders.
const (
	DecodesX86 Decoder = iota
	DecodesRISCV64
	DecodesARM64
	DecodesPPC64
)

// A numbers is what arch/*/kernel/probes knows of a processor whose instructions are numbers.
type numbers struct {
	arch  string // the processor's name
	align int    // bytes: instructions begin at multiples of it
	odd   int    // the errno where none can begin
	inner int    // the errno inside one

	// length returns an instruction's length by its first two bytes.
	length func(w uint32) int
	// sort says how a kernel executes an instruction when its breakpoint was hit, or why it refuses it. w has eight
	// bytes from its first on.
	sort func(k *Kernel, w uint64) (how handling, why ReasonKind)
	// around refuses an instruction because of others near it; nil: none is.
	around func(j *Judge, at int) Reason
	// fixed says that an instruction with an exception-table entry is refused.
	fixed bool
	// traces says that a copy is stepped by a trace interrupt, without a breakpoint after it.
	traces bool
	// traced says that a probe at a site of ftrace goes through ftrace.
	traced bool
	// first says that the kernel of edition 2.6 is known, too.
	first bool

	// optimizes says why an instruction that may be probed can't become a jump; nil: none can.
	optimizes func(w uint64, how handling) ReasonKind
	// entry returns where, in a function's code, a probe of its symbol is placed; nil: at its beginning. near is how
	// many bytes a function's entry extends, for return probes.
	entry func(code []byte) int
	near  int

	quiz *quiz // what Questions asks; nil: nothing
}

// A handling is how a probed instruction is executed (enum probe_insn).
type handling uint8

const (
	stepped   handling = iota // INSN_GOOD: a copy in a slot
	simulated                 // INSN_GOOD_NO_SLOT
	accessed                  // simulated, and more than registers are needed for that
	rejected                  // INSN_REJECTED
)

// decoders has those of numbers, by Decoder.
var decoders = [...]*numbers{DecodesRISCV64: &ofRISCV64, DecodesARM64: &ofARM64,
	DecodesPPC64: &ofPPC64}

// DecoderOf returns the decoder of a processor. ok false: its kernels' probes aren't known.
func DecoderOf(a *arch.Arch) (d Decoder, ok bool) {
	if a.Align == 1 {
		return DecodesX86, true
	}
	for i, n := range decoders {
		if n != nil && n.arch == a.Name {
			return Decoder(i), true
		}
	}
	return DecodesX86, false
}

// Optimizes reports whether kernels of the processor turn breakpoints into jumps.
func (d Decoder) Optimizes() bool { return d == DecodesX86 || decoders[d].optimizes != nil }

// Traced reports whether a probe at a site of ftrace goes through ftrace (CONFIG_KPROBES_ON_FTRACE).
func (d Decoder) Traced() bool { return d == DecodesX86 || decoders[d].traced }

// Traces reports whether they step a copy by a trace interrupt, without a breakpoint after it.
func (d Decoder) Traces() bool { return decoders[d] != nil && decoders[d].traces }

// Has reports whether the kernel of an edition is known, where instructions are numbers.
func (d Decoder) Has(e Edition) bool {
	return e == EditionNone || e.Numbers() || e == Edition26 && decoders[d].first
}

// numbers returns what is known of the kernel's instructions, nil on x86.
func (k *Kernel) numbers() *numbers { return decoders[k.Decoder] }

// wordAt returns the eight bytes at an offset.
func (j *Judge) wordAt(at int) uint64 { return wordOf(j.f.Code[min(at, len(j.f.Code)):]) }

// wordOf returns the first eight bytes of code; missing ones are 0.
func wordOf(code []byte) uint64 { return arch.Word(code) }

// emulated reports whether an instruction is executed without its copy.
func (h handling) emulated() bool { return h == simulated || h == accessed }

// loadNumbers notes where instructions begin, from the function's start on.
func (j *Judge) loadNumbers(n *numbers) {
	for at := 0; at < j.f.Size; {
		in := insn{length: uint8(n.length(uint32(j.wordAt(at))))}
		j.insns = append(j.insns, in)
		j.bytes[at].insn = int32(len(j.insns))
		at += int(in.length)
	}
}

// atNumber is at for them: the checks of register_kprobe, then arch_prepare_kprobe.
func (j *Judge) atNumber(n *numbers, at int, anyByte bool) Verdict {
	v := Verdict{Offset: at, Why: Reason{Kind: NoOptprobes}, NoBoost: Reason{Kind: NoBooster}}
	if at < 0 || at >= j.f.Size {
		return refused(v, noent, Reason{Kind: NoSymbol})
	}
	if errno, why := j.checkAddress(at); errno != 0 {
		return refused(v, errno, why)
	}
	if (j.f.Addr+arch.Addr(at))%arch.Addr(n.align) != 0 {
		return refused(v, n.odd, Reason{Kind: Misaligned})
	}
	if start := j.fentryOf(at); start == at && j.k.Ftrace {
		v.Ftrace, v.Why, v.NoBoost = true, Reason{Kind: ViaFtrace}, Reason{Kind: ViaFtrace}
		return v
	} else if start >= 0 { // check_ftrace_location, without KPROBES_ON_FTRACE
		return refused(v, inval, Reason{Kind: InSite, Site: SiteFentry, At: start})
	}
	if !anyByte && j.bytes[at].insn == 0 && j.k.Unchecked&CheckPrefix == 0 {
		return refused(v, cmp.Or(n.inner, ilseq), Reason{Kind: Boundary, At: j.before(at)})
	}
	if n.fixed && j.bytes[at].extab {
		return refused(v, inval, Reason{Kind: Fixup})
	}
	w := j.wordAt(at)
	how, why := n.sort(&j.k, w)
	if how == rejected {
		return refused(v, inval, Reason{Kind: why})
	}
	if n.around != nil {
		if why := n.around(j, at); why.Kind != None {
			return refused(v, inval, why)
		}
	}
	v.Len, v.Emulated = n.length(uint32(w)), how.emulated()
	if n.optimizes != nil && j.k.Optprobes {
		if v.Why.Kind = n.optimizes(w, how); v.Why.Kind == None {
			v.Region = v.Len
		}
	}
	return v
}

// fentryOf returns where ftrace's site begins that covers an offset, -1 if none does. A kernel without
// CONFIG_KPROBES_ON_FTRACE refuses the site's first byte alone; here all of it is refused, for ftrace writes it.
func (j *Judge) fentryOf(at int) int {
	if !j.bytes[at].fentry {
		return -1
	}
	for at > 0 && j.bytes[at-1].fentry {
		at--
	}
	return at
}

// A form is instructions that a kernel tells by some of their bits, and what becomes of them.
type form struct {
	mask, is uint32
	how      handling
	why      ReasonKind
	since    Edition // the first edition with the handling; before that it is refused with Unsimulated
	copied   bool    // before since it is stepped instead
	not      uint32  // bits of which one must be set; 0: none need be
}

// match returns the first form that an instruction has, nil if there is none.
func match(forms []form, w uint32) *form {
	for i := range forms {
		if f := &forms[i]; w&f.mask == f.is && (f.not == 0 || w&f.not != 0) {
			return f
		}
	}
	return nil
}

// sortBy is sort by forms; an instruction of none is stepped.
func sortBy(forms []form, k *Kernel, w uint32) (handling, ReasonKind) {
	switch f := match(forms, w); {
	case f == nil:
		return stepped, None
	case k.Edition < f.since && f.copied:
		return stepped, None
	case k.Edition < f.since:
		return rejected, Unsimulated
	default:
		return f.how, f.why
	}
}
