// Package arm64 decodes and executes the instructions of arm64: A64 of Armv8.0 to v8.5, as
// kernels' own C and assembly use it.
//
// It gives one row of arch.Arch: ARM64.
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
// The manual is the Arm Architecture Reference Manual, DDI 0487 (ARM ARM). An instruction that it
// calls CONSTRAINED UNPREDICTABLE, or in which a field that should be ones isn't, is an error of
// Decode.
//
// Decoded and refused: floating point, vectors, SVE and SME; memory tags; svc, hvc, smc, eret and
// the instructions of debug state; tlbi, at, and dc and ic but for those by address; system
// registers that have no row in sysregs.go; msr of spsel, and of bits of sctlr_el1 and mdscr_el1
// that change how instructions execute.
//
// Pointer authentication: no key is enabled, so nothing is signed. Its hints do nothing, as on a CPU
// without it. The other instructions do what they do on a CPU whose SCTLR_EL1.EnIA and so on are 0:
// pacia leaves its register as it is, and retaa, braa and ldraa are ret, br and ldr. xpaci and xpacd
// assume a canonical pointer. pacga is refused. Branch targets aren't checked (BTI).
//
// Its limits. All code runs at EL1 with the stack pointer of EL1, which isn't checked to be
// a multiple of 16. Translation is memory's business: its registers are kept and nothing
// else. PAN and UAO are kept and nothing else: ldtr is ldr. Tags in the top byte of addresses
// aren't modelled. Plain accesses may have any alignment, but atomic, exclusive and ordered ones
// must have their own, or the outcome is Protection (FEAT_LSE2 isn't there). Single step of
// MDSCR_EL1 isn't there. Caches are coherent: dc and ic fault as a load does, and do nothing else.
// isb is Serialized. wfe goes on at once.
//
// An ordered load or store takes effect in the order in which the machine steps, like all others.
// Barriers of stores, store exclusives and atomics drain the CPU's stores (arch.Op.Drains). A
// load-acquire doesn't drain, although it must not pass an earlier store-release.
//
// The files: decode (tables of forms, errors), immediate, register, branch, memory, exclusive, hint
// (the forms of each class), operand (second operands, conditions), arith, bits, atomic, pstate
// (execution), sysregs and state (system registers), inst (the methods of arch.Inst), text and names
// (the syntax), encode (what patching writes), frame (the registers that a trap saves), regs
// (registers and flags), row.
package arm64
