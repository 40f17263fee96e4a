package mutants

import (
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/riscv64"
	"kpsim/smp/smpev"
)

// numbers are the mutants of what kprobes do on processors whose instructions are numbers.
var numbers = []Mutant{
	{Name: "arm-unstopped", Source: "arch_arm_kprobe: patch_text, aarch64_insn_patch_text",
		Scenario: "riscv64-probe-odd", Property: "whole-instructions", Also: []string{"no-sail-past", "no-oops"},
		Says:  "on riscv64 and arm64 the breakpoint is written without stopping the machine",
		Apply: func(w *Wiring) { unstopped(w, &w.Steps().Arm.ArchArmKprobe) }},
	{Name: "disarm-unstopped", Source: "arch_disarm_kprobe: patch_text, aarch64_insn_patch_text",
		Scenario: "riscv64-probe", Property: "whole-instructions", Also: []string{"owned-breakpoint", "no-oops"},
		Says:  "on riscv64 and arm64 the breakpoint is replaced without stopping the machine",
		Apply: func(w *Wiring) { unstopped(w, &w.Steps().Arm.RestoreOpcode) }},
	{Name: "arm-ipi-stopped", Source: "c97bf629963e, riscv64, until 6.9", Scenario: "riscv64-probe",
		Property: "progress",
		Says: "on riscv64 and arm64 the CPU that writes while the machine is stopped sends the others, whose " +
			"interrupts are off, an IPI to serialise",
		Apply: func(w *Wiring) {
			stop, sync := w.Deps.Stop, w.Deps.Sync
			w.Deps.Stop = stopper(func(x context, f func(x context)) {
				stop.Machine(x, func(x context) {
					f(x)
					sync.Core(x, kpev.SyncArm)
				})
			})
		}},
	{Name: "step-irqs-on", Source: "kprobes_save_local_irqflag; powerpc: prepare_singlestep",
		Scenario: "riscv64-probe-timer", Property: "no-oops",
		Also:  []string{"owned-breakpoint", "accounted", "no-start-inside", "transparent"},
		Says:  "interrupts stay on while a copy is stepped",
		Apply: on(func(s *steps) { s.Copy.MaskIRQs = func(*regs) {} })},
	{Name: "cancel-irqs-off", Source: "738fa58ee132, arm64, until 5.11", Scenario: "arm64-probe-fault",
		Property: "no-oops", Also: []string{"locks", "transparent", "progress", "balanced"},
		Says:  "interrupts stay off if a copy that is stepped has faulted and the step is cancelled",
		Apply: on(func(s *steps) { skip2(&s.Copy.CancelFlags) })},
	{Name: "jalr-same", Source: "ca0254998be4, riscv64, until 6.1", Scenario: "riscv64-probe-branch",
		Property: "right-result",
		Says:     "a simulated jalr whose two registers are one jumps by what it has just written there",
		Apply: on(func(s *steps) {
			emulate := s.Copy.Emulate
			s.Copy.Emulate = func(e *engine, x context, ap *aggr, r *regs) bool {
				done := emulate(e, x, ap, r)
				if in, ok := ap.Insn().(*riscv64.Inst); ok {
					jalrSame(in.Word(), r)
				}
				return done
			}
		})},
	{Name: "nip-unstored", Source: "optimized_callback, powerpc, since 4.11", Scenario: "ppc64le-optimize-call",
		Property: "no-oops", Also: []string{"right-result", "transparent"},
		Says: "on ppc64le a detour whose handlers don't run emulates its instruction at whatever address is on the " +
			"stack",
		Apply: on(func(s *steps) { skip3(&s.Hit.StoreIP) })},
	{Name: "frame-kept", Source: "handle_stack_update, arch/powerpc/lib/sstep.c", Scenario: "ppc64le-probe-frame",
		Property: "transparent", Also: []string{"no-oops", "right-result"},
		Says:  "on ppc64le an emulated stdu stores into the frame of the trap, which the registers are written over",
		Apply: on(func(s *steps) { skip2(&s.Copy.MoveFrame) })},
	{Name: "prefix-unasked", Source: "arch_prepare_kprobe: ppc_inst_prefixed", Scenario: "ppc64le-probe-prefixed",
		Property: "answers", Also: []string{"whole-instructions", "no-sail-past", "no-oops"},
		Says:  "on ppc64le the second word of a prefixed instruction can be probed",
		Apply: func(w *Wiring) { w.Engine.Kernel.Unchecked |= rules.CheckPrefix }},
	{Name: "break-long", Source: "arch_arm_kprobe: GET_INSN_LENGTH", Scenario: "riscv64-probe-odd",
		Property: "whole-instructions",
		Also:     []string{"foreign-bytes", "text-agrees", "text-restored", "owned-breakpoint", "no-oops"},
		Says:     "on riscv64 a breakpoint of four bytes takes the place of an instruction of two",
		Apply: on(func(s *steps) {
			write := s.Arm.WriteProbe
			s.Arm.WriteProbe = func(e *engine, x context, at arch.Addr, b []byte) {
				if len(b) == riscv64.HalfLen && riscv64.RV64.IsBreakpoint(arch.Word(b)) {
					b = riscv64.RV64.Breakpoint
				}
				write(e, x, at, b)
			}
		})},
}

// unstopped has a step write to text under running CPUs, and then serialise the writing one.
func unstopped(w *Wiring, step *func(e *engine, x context, ap *aggr)) {
	s, was := w.Steps(), *step
	stopped := s.Arm.WriteProbe
	*step = func(e *engine, x context, ap *aggr) {
		s.Arm.WriteProbe = func(_ *engine, x context, at arch.Addr, b []byte) {
			w.Deps.Text.Write(x, at, b)
			w.Deps.Sync.Self(x, smpev.SyncSelf)
		}
		was(e, x, ap)
		s.Arm.WriteProbe = stopped
	}
}

// jalrSame has a jalr that was executed, and whose two registers are one, jump by what it has left there and not by
// what it found (vol. 1, "Unconditional Jumps").
func jalrSame(w uint32, r *regs) {
	if rd, rs := w>>7&31, w>>15&31; w&0x707f == 0x67 && rd == rs && rd != 0 {
		r.IP = arch.Addr(r.R[rd]+uint64(int64(int32(w)>>20))) &^ 1
	}
}

// A stopper is a kapi.Stopper that is a function.
type stopper func(x context, f func(x context))

// Machine implements kapi.Stopper.
func (s stopper) Machine(x context, f func(x context)) { s(x, f) }
