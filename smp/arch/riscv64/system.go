package riscv64

import "kpsim/smp/arch"

// Instructions that ask something of the machine.

// execEbreak leaves IP at the breakpoint: sepc is the address of the instruction that trapped
// (vol. 2, "Supervisor Exception Program Counter").
func execEbreak(*arch.Op, *arch.Regs, arch.Memory) arch.Outcome { return arch.Breakpoint }

// execRefused is of what exists and isn't executed. Inst.String names it.
func execRefused(*arch.Op, *arch.Regs, arch.Memory) arch.Outcome { return arch.Unsupported }

func execUndefined(*arch.Op, *arch.Regs, arch.Memory) arch.Outcome { return arch.Undefined }

// execNothing is of fences: data accesses are done at once, and Op.Drains says the rest.
func execNothing(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	r.IP = of(op).next
	return arch.Next
}

// execFenceI makes this hart's fetches see all stores before it (vol. 1, "Zifencei" chapter).
func execFenceI(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	r.IP = of(op).next
	return arch.Serialized
}

// execRelax is of pause and of waits for a reservation to break, which may end at any time
// (vol. 1, "Zihintpause" and "Zawrs" chapters).
func execRelax(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	r.IP = of(op).next
	return arch.Relaxed
}

func execWfi(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	r.IP = of(op).next
	return arch.Halt
}
