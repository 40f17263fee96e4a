// Package riscv64 decodes and executes instructions of RISC-V with 64 bits.
//
// It gives a row of arch.Arch: RV64.
//
// What it is not: it knows no machine. Registers and memory are handed in, and what an
// instruction asks of the machine is handed back as an Outcome. The state that a trap doesn't
// save (System) belongs to a CPU. Instructions that need it ask memory for it.
//
// Its rule: never silently wrong. What it can't decode or execute is an error that names the
// bytes, or an instruction that is arch.Unsupported and has a name. An instruction does all that
// it does, or nothing.
//
// What it executes: RV64I, M, A, C, Zicsr, Zifencei, Zihintpause, Zawrs, Zba, Zbb, and the
// supervisor's registers that kernels use. Hints are executed as the manual says: they change
// nothing. Manuals: "vol. 1" is the unprivileged one, "vol. 2" the privileged one, cited by
// chapter or section because their numbers differ between releases.
//
// Its limits. Floats, vectors, Zbc, Zbs, Zicond, Zacas, cache-block operations, hypervisor and
// machine mode are refused when executed: sret too, because handlers return by the machine, and
// ecall, because there is no firmware. What the disassembler doesn't know and has no form here is
// unknown. All code runs in supervisor mode. Which interrupts come is the machine's: sie and sip
// are kept and not consulted, nor is stvec. The three counters are one clock. sstatus.SPIE and SPP
// are what was last written. Misaligned loads and stores are one access, and atomic ones fault.
// Memory accesses are done at once, in the order the machine steps, so acquire, release and fences
// order nothing here: Op.Drains marks what a machine with store buffers must drain before.
//
// The order of the flags: Regs.Flags has arch.IRQ for sstatus.SIE and the bits of sstatus that a
// kernel keeps by task (FS, VS, SUM, MXR) 32 bits higher than they stand there. The frame has them
// as sstatus after a trap: SPIE is whether interrupts were on. There is no step flag.
//
// The files: forms (all instructions of 32 bits), compressed (those of 16, and what each stands
// for), decode (how operands lie), inst (what is asked of an instruction), text (how it is
// written), arith, mul, bits, branch, access, atomic, csr, system (what each does), state (what a
// trap doesn't save), frame (what it does), encode and row (what patching writes).
package riscv64
