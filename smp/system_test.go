package smp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/smpev"
)

// Each CPU has a base of gs of its own, whatever runs between two of its
// instructions; a new run begins with none.
func TestPerCPU(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 2})
	// rdgsbase %rax; wrgsbase %rdi; incl %gs:8; incl %gs:8; rdpid %rdx; ret
	f := r.text("f", 0, "f3 48 0f ae c8 f3 48 0f ae df 65 ff 04 25 08 00 00 00 65 ff 04 25 08 00 00 00 f3 0f c7 fa c3")
	for c := range 2 {
		r.Tasks().AddProgram("p", c, func(x *smp.Ctx) {
			x.Regs().R[x86.RDI] = uint64(smp.DataBase) + 16*uint64(c)
			x.Memory().Store(smp.DataBase+arch.Addr(16*c+8), 4, 0)
			x.Call(f)
			left := x.Thread().Left()
			require.Zero(t, left.R[x86.RAX])
			require.EqualValues(t, c, left.R[x86.RDX])
			v, _ := x.Memory().Load(smp.DataBase+arch.Addr(16*c+8), 4)
			require.EqualValues(t, 2, v)
		})
	}
	for _, ch := range schedules(10) {
		r.want(smp.Passed, ch)
	}
}

// System state is that of the CPU that executes, also if no routine has asked
// for memory before.
func TestSystemOfCPU(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 3})
	f := r.text("f", 0, "f3 0f c7 f8 c3") // rdpid %rax; ret
	var got [3]uint64
	for c := range got {
		r.Tasks().AddProgram("p", c, func(x *smp.Ctx) { got[c] = x.Call(f) })
	}
	for _, ch := range schedules(5) {
		r.want(smp.Passed, ch)
		require.Equal(t, [3]uint64{0, 1, 2}, got)
	}
}

// The base of fs, and that of gs after swapgs, follow their task; those of
// another task on the same CPU come and go.
func TestBasesFollowTask(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 1, Full: true})
	// rdfsbase %rsi; wrfsbase %rdi; wrmsr; nop; nop; rdmsr; rdfsbase %rbx; ret
	f := r.text("f", 0, "f3 48 0f ae c6 f3 48 0f ae d7 0f 30 90 90 0f 32 f3 48 0f ae c3 c3")
	r.source(smp.PreemptSource, 0, 4)
	switched := 0
	r.Hooks().Trap[smpev.VecResch] = func(x *smp.Ctx, _ *arch.Regs) {
		switched++
		x.Preempt()
	}
	for task := range uint64(3) {
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
			own := 0x1000 * (task + 1)
			x.Regs().R[x86.RDI], x.Regs().R[x86.RAX], x.Regs().R[x86.RDX], x.Regs().R[x86.RCX] = own, own+8, 0, 0xc0000102
			x.Call(f)
			left := x.Thread().Left()
			require.Zero(t, left.R[x86.RSI])
			require.Equal(t, own, left.R[x86.RBX])
			require.Equal(t, own+8, left.R[x86.RAX])
		})
	}
	for _, ch := range schedules(20) {
		r.want(smp.Passed, ch)
	}
	require.Greater(t, switched, 20)
}

// The time-stamp counter is the CPU's clock: a trap takes longer than a nop.
func TestTimeStamp(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 1})
	// rdtsc; mov %eax,%ebx; BETWEEN; rdtsc; sub %ebx,%eax; ret
	nop := r.text("nop", 0, "0f 31 89 c3 90 0f 31 29 d8 c3")
	trap := r.text("trap", 0x20, "0f 31 89 c3 cc 0f 31 29 d8 c3")
	r.Hooks().Trap[smpev.VecBP] = func(*smp.Ctx, *arch.Regs) {}
	var took [2]uint64
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		for i, f := range []arch.Addr{nop, trap} {
			x.Call(f)
			took[i] = x.Thread().Left().R[x86.RAX]
		}
	})
	r.want(smp.Passed, sim.Always0{})
	require.EqualValues(t, 3, took[0]) // cycles: one an instruction
	require.Greater(t, took[1], uint64(100))
}

// A page fault leaves its address in CR2.
func TestCR2(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 1})
	f := r.text("f", 0, "48 8b 04 25 34 12 00 00 0f 20 d0 c3") // mov 0x1234,%rax; mov %cr2,%rax; ret
	r.Hooks().Trap[smpev.VecPF] = func(_ *smp.Ctx, regs *arch.Regs) { regs.IP += 8 }
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
	var left uint64
	r.Tasks().AddProgram("q", 0, func(x *smp.Ctx) {
		x.Call(f)
		left = x.Thread().Left().R[x86.RAX]
	})
	r.want(smp.Passed, sim.Always0{})
	require.EqualValues(t, 0x1234, left)
}

// No interrupt is taken between mov to ss and the next instruction, no NMI
// either, and the single step's trap waits for it as well (SDM vol. 3, "Masking
// Exceptions and Interrupts When Switching Stacks").
func TestMovSS(t *testing.T) {
	for kind, vector := range map[smp.SourceKind]uint8{smp.TimerSource: smpev.VecTimer, smp.NMISource: smpev.VecNMI} {
		r := newRig(t, smp.Config{CPUs: 1})
		f := r.text("f", 0, "8c d0 8e d0 90 90 c3") // mov %ss,%eax; mov %eax,%ss; nop; nop; ret
		r.source(kind, 0, 1)
		seen := map[arch.Addr]bool{}
		r.Hooks().Trap[vector] = func(_ *smp.Ctx, regs *arch.Regs) { seen[regs.IP-f] = true }
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
		for want := range arch.Addr(7) {
			r.want(smp.Passed, director(func(*sim.Point) sim.Mover {
				if name, off, text := r.Names().Where(0); text && name == "f" && arch.Addr(off) >= want {
					return sim.MoverSource
				}
				return sim.NoMover
			}))
		}
		require.Equal(t, map[arch.Addr]bool{0: true, 2: true, 5: true, 6: true}, seen)
	}

	r := newRig(t, smp.Config{CPUs: 1})
	f := r.text("f", 0, "8c d0 9c 81 0c 24 00 01 00 00 9d 8e d0 90 90 c3") // pushf; orl $TF,(%rsp); popf in between
	var at []arch.Addr
	r.Hooks().Trap[smpev.VecDB] = func(_ *smp.Ctx, regs *arch.Regs) { at = append(at, regs.IP-f) }
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
	r.run(sim.Always0{})
	require.NotEmpty(t, at)
	require.EqualValues(t, 14, at[0])
}
