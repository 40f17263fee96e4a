package arm64

import "kpsim/smp/arch"

// makeMoveToState is msr of a field of PSTATE, with an immediate of four bits in CRm (ARM ARM C5.2).
// imm has the bits of Flags that it writes, bMask those that it sets.
func makeMoveToState(in *Inst, w word) error {
	v := w.field(8, 4)
	switch field := w.stateField(); field {
	case stateDAIFSet, stateDAIFClr:
		in.makeMask(field, v)
	case stateSPSel:
		return refuse(in, w)
	case 0, 1, 2: // no field: cfinv, xaflag and axflag (FEAT_FlagM, FEAT_FlagM2)
		in.Run = [...]run{execInvertCarry, execFromExternal, execToExternal}[field]
		if v != 0 {
			return ErrUnknown
		}
	default:
		bit, ok := stateBits[field]
		if !ok {
			return ErrUnknown
		}
		in.imm, in.bMask, in.Run = bit, bit*(v&1), execMoveToState
	}
	return nil
}

// stateField returns op1 and op2, which say the field.
func (w word) stateField() uint64 { return w.field(16, 3)<<3 | w.field(5, 3) }

// The fields by op1 and op2.
const (
	stateUAO     = 0<<3 | 3
	statePAN     = 0<<3 | 4
	stateSPSel   = 0<<3 | 5
	stateSSBS    = 3<<3 | 1
	stateDIT     = 3<<3 | 2
	stateTCO     = 3<<3 | 4
	stateDAIFSet = 3<<3 | 6
	stateDAIFClr = 3<<3 | 7
)

// stateBits are the bits of Flags of the fields that have one.
var stateBits = map[uint64]uint64{
	stateUAO: FlagUAO, statePAN: FlagPAN, stateSSBS: FlagSSBS, stateDIT: FlagDIT, stateTCO: FlagTCO,
}

// makeMask is msr daifset and daifclr: the immediate has D, A, I and F from bit 3 down. If I is among
// them, interrupts may have been enabled or disabled.
func (in *Inst) makeMask(field, v uint64) {
	changed := FlagsOf(0) ^ FlagsOf(v<<6)
	in.imm, in.bMask, in.Run = changed, changed, execMoveToState
	if field == stateDAIFClr {
		in.bMask = 0
	}
	if changed&arch.IRQ != 0 {
		in.bMask ^= arch.IRQ // inverted
		in.Run = execMaskInterrupts
	}
}

func execMoveToState(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	r.Flags = r.Flags&^in.imm | in.bMask
	r.IP += Len
	return arch.Next
}

func execMaskInterrupts(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	r.Flags = r.Flags&^in.imm | in.bMask
	r.IP += Len
	return arch.Interrupts
}

func execInvertCarry(_ *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	r.Flags ^= FlagC
	r.IP += Len
	return arch.Next
}

// execFromExternal and execToExternal translate the flags of a comparison of floats from and to another
// format (ARM ARM C6.2, "XAFLAG", "AXFLAG").
func execFromExternal(_ *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	z, c := r.Flags&FlagZ != 0, r.Flags&FlagC != 0
	return moveFlags(r, !c && !z, z && c, c || z, !c && z)
}

func execToExternal(_ *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	z, c, v := r.Flags&FlagZ != 0, r.Flags&FlagC != 0, r.Flags&FlagV != 0
	return moveFlags(r, false, z || v, c && !v, false)
}

func moveFlags(r *arch.Regs, n, z, c, v bool) arch.Outcome {
	f := r.Flags &^ flagsNZCV
	for i, set := range [4]bool{v, c, z, n} {
		if set {
			f |= FlagV << i
		}
	}
	r.Flags = f
	r.IP += Len
	return arch.Next
}

// Operations on caches and translations: sys with names of their own (ARM ARM C5).

// zeroedLog is the logarithm of the bytes that dc zva zeroes.
const zeroedLog = 6

// sysOps are those that are executed, by op1, CRn, CRm and op2. Data caches are coherent here, and the
// machine decides what a CPU fetches, so those on caches fault as a load does, and do nothing else.
// None on translations is executed.
var sysOps = map[uint64]sysOp{
	sysCode(3, 7, 4, 1):  {"dc zva", execZero},
	sysCode(3, 7, 5, 1):  {"ic ivau", execCache},
	sysCode(3, 7, 10, 1): {"dc cvac", execCache},
	sysCode(3, 7, 11, 1): {"dc cvau", execCache},
	sysCode(3, 7, 12, 1): {"dc cvap", execCache},
	sysCode(3, 7, 14, 1): {"dc civac", execCache},
}

// A sysOp is a row of sysOps.
type sysOp struct {
	name string
	run  run
}

func sysCode(op1, crn, crm, op2 uint64) uint64 { return op1<<11 | crn<<7 | crm<<3 | op2 }

func makeSys(in *Inst, w word) error {
	in.Run = sysOps[w.field(5, 14)].run
	if in.Run == nil {
		return refuse(in, w)
	}
	in.n, in.memory = w.reg(0), true
	return nil
}

func execCache(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	if _, ok := m.Load(arch.Addr(r.R[whole(op).n]), 1); !ok {
		return arch.PageFault
	}
	r.IP += Len
	return arch.Next
}

// execZero is dc zva. A block lies in one page, so if its first word can be stored, all can.
func execZero(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	const size = 1 << zeroedLog
	at := arch.Addr(r.R[whole(op).n]) &^ (size - 1)
	for i := arch.Addr(0); i < size; i += 8 {
		if !m.Store(at+i, 8, 0) {
			return arch.PageFault
		}
	}
	r.IP += Len
	return arch.Next
}
