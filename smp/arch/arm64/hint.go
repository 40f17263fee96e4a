package arm64

import "kpsim/smp/arch"

func makeNop(in *Inst, _ word) error {
	in.Run = execNop
	return nil
}

func execNop(_ *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	r.IP += Len
	return arch.Next
}

// Hints by their number, CRm and op2 (ARM ARM C4.1, "Hints"). The others execute as nop. So do, by the
// architecture, those that aren't allocated.
const (
	hintYield = 1
	hintWFE   = 2
	hintWFI   = 3
	hintSEV   = 4
	hintSEVL  = 5
	hintDGH   = 6  // data gathering hint
	hintESB   = 16 // error synchronization barrier
	hintPSB   = 17 // of profiling
	hintTSB   = 18 // of tracing
	hintCSDB  = 20 // of speculation
)

// makeHint is for hints. nop, bti and the hints of pointer authentication are idle.
func makeHint(in *Inst, w word) error {
	in.Run = execNop
	switch w.field(5, 7) {
	case hintYield, hintWFE:
		in.Run = execRelax
	case hintWFI:
		in.flow, in.Run = arch.FlowHalt, execHalt
	case hintSEV, hintSEVL, hintDGH, hintESB, hintPSB, hintTSB, hintCSDB:
	default:
		in.idle = true
	}
	return nil
}

// execRelax is yield and wfe. The event register may be set at any time, so wfe may go on at once. The
// loop around it checks its condition again.
func execRelax(_ *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	r.IP += Len
	return arch.Relaxed
}

// execHalt is wfi.
func execHalt(_ *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	r.IP += Len
	return arch.Halt
}

// makeBarrier is dmb and dsb. Those for loads alone don't drain the store buffer. ssbb and pssbb, which
// order speculation, are encoded as dsb without a domain.
func makeBarrier(in *Inst, w word) error {
	in.Run = execNop
	in.Drains = w.field(8, 2) != 1
	return nil
}

// makeISB is isb, a context synchronization event (ARM ARM, Glossary).
func makeISB(in *Inst, _ word) error {
	in.Run = execISB
	return nil
}

func execISB(_ *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	r.IP += Len
	return arch.Serialized
}

// makeClear is clrex.
func makeClear(in *Inst, _ word) error {
	in.Run = execClear
	return nil
}

func execClear(_ *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	reserver(m).Reserved(0, 0)
	r.IP += Len
	return arch.Next
}

// refuse makes an instruction that exists and isn't executed.
func refuse(in *Inst, _ word) error {
	in.refused, in.Run = true, execUnsupported
	return nil
}

func execUnsupported(*arch.Op, *arch.Regs, arch.Memory) arch.Outcome { return arch.Unsupported }

// refusedForms are udf, and the classes that aren't executed.
var refusedForms = []form{
	{"0000000000000000 ................", "udf", makeUndefined, textUndefined},
	{"1.. 0000 .........................", "of matrices (SME)", refuse, nil},
	{"... 0010 .........................", "of scalable vectors (SVE)", refuse, nil},
	{"... .111 .........................", "of floating point or vectors", refuse, nil},
	{"... .110 .........................", "of floating-point or vector registers", refuse, nil},
	{"1.0 100011 0 ...... 00 .... ..... .....", "addg or subg, of memory tags", refuse, nil},
	{"10. 11010110 ..... 000000 ..... .....", "subp, of memory tags", refuse, nil},
	{"100 11010110 ..... 00010. ..... .....", "irg or gmi, of memory tags", refuse, nil},
	{"11011001 .. 1 ......... .. ..... .....", "stg and the like, of memory tags", refuse, nil},
}
