// Package ppc64 decodes and executes the instructions of ppc64le: the Power ISA, versions 2.07 to
// 3.1, with 64 bits and in little-endian mode, as kernels' own C and assembly use it.
//
// It gives one row of arch.Arch: PPC64.
//
// What it is not: it knows no machine. Registers and memory are handed in, and what an
// instruction asks of the machine is handed back as an Outcome. The state that a trap doesn't
// save (System) belongs to a CPU. Instructions that need it ask memory for it (arch.Systemic),
// and those that reserve ask it for that (arch.Reserver).
//
// Its rule: never silently wrong. What it can't decode is an error that names the bytes. What
// it decodes and doesn't execute is Unsupported, and String names it. An instruction completes, or
// changes nothing.
//
// The manual is the Power ISA, cited by book and section. An invalid form is an error of Decode.
// So are instructions that aren't known to the disassembler, and a prefixed instruction that crosses
// a boundary of 64 bytes. An instruction whose reserved field isn't zero is refused.
//
// Decoded and refused: floating point, vectors, VSX and matrices; lq, stq, lmw, stmw and strings;
// lqarx and stqcx.; sc, scv, rfid, hrfid and rfscv; instructions of translation, of message
// passing and of transactions; copy and paste; hashst and hashchk; darn; special registers that
// have no row in state.go, among them LPCR, HID0, AMR, PID and those of the hypervisor; mtmsr and
// mtmsrd that change more of MSR than EE, RI, SE, FP, VEC and VSX.
//
// Traps: tw, td, twi and tdi are breakpoints if their condition holds, as a kernel takes them. IP stays
// at them. Those without a condition are breakpoints for the row, too.
//
// What the manual leaves undefined: the upper half of the result of divw, mulhw and their like is
// zero, or the sign for divwe; a division without a quotient gives 0; mfocrf clears the other fields.
//
// Its limits. All code runs with the privilege of an operating system that has a hypervisor above it.
// Translation is memory's business. Plain accesses may have any alignment and are one access, but those
// that reserve must be aligned, or the outcome is Protection. A reservation is of the bytes that were
// loaded. The time base and DEC count cycles. DEC is counted and not consulted: which interrupts come is
// the machine's. Caches are coherent: icbi, dcbst and dcbf fault as a load does, and do nothing
// else. isync is Serialized, and so is mtmsrd without L unless it changes EE, when the outcome is
// Interrupts. Stores take effect in the order in which the machine steps. All barriers,
// and instructions that reserve, drain the CPU's stores (arch.Op.Drains), lwsync and eieio too.
// The hints of priority are nops. Those for low priority and yield, and the short waits, are
// Relaxed; wait for an interrupt is Halt.
//
// The order of the flags: Regs.Flags has CR in its upper half and XER in its lower one, beside
// arch.IRQ for MSR.EE, arch.Step for MSR.SE, FP, VEC and VSX of MSR, and RI inverted. See regs.go.
//
// The files: decode (forms, errors), layout (how operands lie), arith, logic, rotate, compare,
// access, exclusive, branch, system, prefixed (the forms of each class, and what they do), inst (the
// methods of arch.Inst), text and alias (the syntax), regs (registers and flags), state (special
// registers), frame (the registers that a trap saves), encode (what patching writes), row.
package ppc64
