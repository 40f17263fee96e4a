package arm64

import "kpsim/smp/arch"

// A sysreg is a row of the system registers.
type sysreg struct {
	name                    string // as assemblers have it
	op0, op1, crn, crm, op2 uint8

	place int // where it is kept; none: read and write access it
	// A register that has no write is read only. One that has neither is refused.
	read  func(y *System, r *arch.Regs) uint64
	write func(y *System, r *arch.Regs, v uint64) arch.Outcome
}

// code returns the register's number as the instructions have it: fifteen bits, for op0 is 2 or 3
// (ARM ARM C5.1).
func (s *sysreg) code() uint64 {
	return uint64(s.op0&1)<<14 | uint64(s.op1)<<11 | uint64(s.crn)<<7 | uint64(s.crm)<<3 | uint64(s.op2)
}

// sysregs are the registers (ARM ARM, "AArch64 System Register Descriptions"). Those that have no row
// are refused, too.
var sysregs = []sysreg{
	kept("sp_el0", 3, 0, 4, 1, 0, SPEL0),
	kept("tpidr_el0", 3, 3, 13, 0, 2, TPIDREL0),
	kept("tpidrro_el0", 3, 3, 13, 0, 3, TPIDRROEL0),
	kept("tpidr_el1", 3, 0, 13, 0, 4, TPIDREL1),
	kept("far_el1", 3, 0, 6, 0, 0, FAREL1),
	kept("esr_el1", 3, 0, 5, 2, 0, ESREL1),
	kept("elr_el1", 3, 0, 4, 0, 1, ELREL1),
	kept("spsr_el1", 3, 0, 4, 0, 0, SPSREL1),
	kept("vbar_el1", 3, 0, 12, 0, 0, VBAREL1),
	kept("ttbr0_el1", 3, 0, 2, 0, 0, TTBR0EL1),
	kept("ttbr1_el1", 3, 0, 2, 0, 1, TTBR1EL1),
	kept("tcr_el1", 3, 0, 2, 0, 2, TCREL1),
	kept("mair_el1", 3, 0, 10, 2, 0, MAIREL1),
	kept("contextidr_el1", 3, 0, 13, 0, 1, CONTEXTIDREL1),
	kept("cpacr_el1", 3, 0, 1, 0, 2, CPACREL1),
	kept("par_el1", 3, 0, 7, 4, 0, PAREL1),
	checked("sctlr_el1", 3, 0, 1, 0, 0, SCTLREL1, sctlrRefused),
	checked("mdscr_el1", 2, 0, 0, 2, 2, MDSCREL1, mdscrSS),

	flagBits("nzcv", 3, 3, 4, 2, 0, flagsNZCV),
	flagBits("daif", 3, 3, 4, 2, 1, psDAIF),
	flagBits("pan", 3, 0, 4, 2, 3, FlagPAN),
	flagBits("uao", 3, 0, 4, 2, 4, FlagUAO),
	flagBits("dit", 3, 3, 4, 2, 5, FlagDIT),
	flagBits("ssbs", 3, 3, 4, 2, 6, FlagSSBS),
	flagBits("tco", 3, 3, 4, 2, 7, FlagTCO),

	fixed("currentel", 3, 0, 4, 2, 2, 1<<2), // EL1
	{name: "spsel", op0: 3, crn: 4, crm: 2, place: none,
		read:  func(*System, *arch.Regs) uint64 { return 1 },
		write: func(*System, *arch.Regs, uint64) arch.Outcome { return arch.Unsupported }},
	fixed("midr_el1", 3, 0, 0, 0, 0, 0x000f0000), // implementer 0: reserved for software
	fixed("revidr_el1", 3, 0, 0, 0, 6, 0),
	fixed("aidr_el1", 3, 1, 0, 0, 7, 0),
	fixed("ctr_el0", 3, 3, 0, 0, 1, 0x8444c004), // lines of 64 bytes, neither IDC nor DIC
	fixed("dczid_el0", 3, 3, 0, 0, 7, zeroedLog-2),
	fixed("cntfrq_el0", 3, 3, 14, 0, 0, 1_000_000_000),
	fixed("id_aa64pfr0_el1", 3, 0, 0, 4, 0, 1<<48|0xff0011), // DIT; no floats; AArch64 alone
	fixed("id_aa64pfr1_el1", 3, 0, 0, 4, 1, 0x10),           // SSBS
	fixed("id_aa64dfr0_el1", 3, 0, 0, 5, 0, 0x6),
	fixed("id_aa64dfr1_el1", 3, 0, 0, 5, 1, 0),
	fixed("id_aa64isar0_el1", 3, 0, 0, 6, 0, 0x2<<52|0x2<<20|0x1<<16), // flags, atomics, crc32
	fixed("id_aa64isar1_el1", 3, 0, 0, 6, 1, 0x1<<36|0x2<<20|0x1),     // sb, ldapur, dc cvap
	fixed("id_aa64isar2_el1", 3, 0, 0, 6, 2, 0),
	fixed("id_aa64mmfr0_el1", 3, 0, 0, 7, 0, 0x0f000005), // 48 bits of addresses, pages of 4 KiB
	fixed("id_aa64mmfr1_el1", 3, 0, 0, 7, 1, 0x1<<20),    // PAN
	fixed("id_aa64mmfr2_el1", 3, 0, 0, 7, 2, 0x1<<4),     // UAO

	{name: "mpidr_el1", op0: 3, crm: 0, op2: 5, place: none,
		read: func(y *System, _ *arch.Regs) uint64 { return y.cpu }},
	counter("cntvct_el0", 2),
	counter("cntpct_el0", 1),

	refused("oslar_el1", 2, 0, 1, 0, 4),
	refused("osdlr_el1", 2, 0, 1, 3, 4),
	refused("actlr_el1", 3, 0, 1, 0, 1),
	refused("icc_pmr_el1", 3, 0, 4, 6, 0),
	refused("icc_iar1_el1", 3, 0, 12, 12, 0),
	refused("icc_eoir1_el1", 3, 0, 12, 12, 1),
	refused("icc_sgi1r_el1", 3, 0, 12, 11, 5),
	refused("icc_dir_el1", 3, 0, 12, 11, 1),
	refused("isr_el1", 3, 0, 12, 1, 0),
	refused("disr_el1", 3, 0, 12, 1, 1),
	refused("cntkctl_el1", 3, 0, 14, 1, 0),
	refused("cntp_tval_el0", 3, 3, 14, 2, 0),
	refused("cntp_ctl_el0", 3, 3, 14, 2, 1),
	refused("cntp_cval_el0", 3, 3, 14, 2, 2),
	refused("cntv_tval_el0", 3, 3, 14, 3, 0),
	refused("cntv_ctl_el0", 3, 3, 14, 3, 1),
	refused("cntv_cval_el0", 3, 3, 14, 3, 2),
	refused("pmccntr_el0", 3, 3, 9, 13, 0),
	refused("fpcr", 3, 3, 4, 4, 0),
	refused("fpsr", 3, 3, 4, 4, 1),
	refused("rndr", 3, 3, 2, 4, 0),
	refused("clidr_el1", 3, 1, 0, 0, 1),
	refused("csselr_el1", 3, 2, 0, 0, 0),
	refused("ccsidr_el1", 3, 1, 0, 0, 0),
}

// none is the place of a register that isn't kept.
const none = -1

func kept(name string, op0, op1, crn, crm, op2 uint8, place int) sysreg {
	return sysreg{name: name, op0: op0, op1: op1, crn: crn, crm: crm, op2: op2, place: place}
}

// fixed is a register that always reads the same.
func fixed(name string, op0, op1, crn, crm, op2 uint8, v uint64) sysreg {
	s := kept(name, op0, op1, crn, crm, op2, none)
	s.read = func(*System, *arch.Regs) uint64 { return v }
	return s
}

// checked is a register that is kept, with bits that may not be set: their effect isn't executed.
func checked(name string, op0, op1, crn, crm, op2 uint8, place int, refused uint64) sysreg {
	s := kept(name, op0, op1, crn, crm, op2, none)
	s.read = func(y *System, _ *arch.Regs) uint64 { return y.kept[place] }
	s.write = func(y *System, _ *arch.Regs, v uint64) arch.Outcome {
		if v&refused != 0 {
			return arch.Unsupported
		}
		y.kept[place] = v
		return arch.Next
	}
	return s
}

// flagBits is a register that is some bits of PSTATE.
func flagBits(name string, op0, op1, crn, crm, op2 uint8, bits uint64) sysreg {
	s := kept(name, op0, op1, crn, crm, op2, none)
	s.read = func(_ *System, r *arch.Regs) uint64 { return PState(r.Flags) & bits }
	s.write = func(_ *System, r *arch.Regs, v uint64) arch.Outcome {
		r.Flags = FlagsOf(PState(r.Flags)&^bits | v&bits)
		if bits&psI != 0 {
			return arch.Interrupts
		}
		return arch.Next
	}
	return s
}

// refused is a register that isn't executed. Its row is for its name.
func refused(name string, op0, op1, crn, crm, op2 uint8) sysreg {
	return kept(name, op0, op1, crn, crm, op2, none)
}

// counter is the virtual or the physical counter. They show the same time.
func counter(name string, op2 uint8) sysreg {
	s := kept(name, 3, 3, 14, 0, op2, none)
	s.read = func(y *System, _ *arch.Regs) uint64 {
		y.read = true
		return y.clock
	}
	return s
}

// sysregOf has the rows by their code.
var sysregOf = func() map[uint64]*sysreg {
	rows := make(map[uint64]*sysreg, len(sysregs))
	for i := range sysregs {
		rows[sysregs[i].code()] = &sysregs[i]
	}
	return rows
}()

// identification reports whether a register is one of those that say what a CPU has. Those that aren't
// allocated read as zero (ARM ARM, "Principles of the ID scheme for fields in ID registers").
func identification(code uint64) bool {
	return code>>3&^15 == 1<<11 && code>>3&15 != 0 && code>>3&15 < 8 // op0 3, op1 0, CRn 0, CRm 1 to 7
}

// makeMoveFromSystem is mrs.
func makeMoveFromSystem(in *Inst, w word) error {
	in.d, in.mask = w.reg(0), ^uint64(0)
	code := w.field(5, 15)
	switch s := sysregOf[code]; {
	case s == nil && identification(code):
		in.Run = execMoveConstant
	case s == nil || s.place == none && s.read == nil:
		return refuse(in, w)
	case s.place != none:
		in.imm, in.Run = uint64(s.place), execMoveFromKept
	default:
		in.reg, in.Run = s, execMoveFromSystem
	}
	return nil
}

func execMoveFromKept(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, system(m).kept[in.imm])
}

func execMoveFromSystem(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	return in.set(r, in.reg.read(system(m), r))
}

// makeMoveToSystem is msr of a register. msr of a read-only one is undefined.
func makeMoveToSystem(in *Inst, w word) error {
	in.d = w.reg(0)
	code := w.field(5, 15)
	switch s := sysregOf[code]; {
	case s == nil && !identification(code), s != nil && s.place == none && s.read == nil:
		return refuse(in, w)
	case s == nil || s.place == none && s.write == nil:
		in.flow, in.Run = arch.FlowUndefined, execUndefined
	case s.place != none:
		in.imm, in.Run = uint64(s.place), execMoveToKept
	default:
		in.reg, in.Run = s, execMoveToSystem
	}
	return nil
}

func execMoveToKept(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	system(m).kept[in.imm] = r.R[in.d]
	r.IP += Len
	return arch.Next
}

func execMoveToSystem(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := whole(op)
	o := in.reg.write(system(m), r, r.R[in.d])
	if !o.Faulted() {
		r.IP += Len
	}
	return o
}
