package smp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/isa"
	"kpsim/smp/smpev"
)

// Each CPU has a base of gs of its own, whoever runs between two of its
// instructions; a new run begins with none.
func TestPerCPU(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 2})
	// rdgsbase %rax; wrgsbase %rdi; incl %gs:8; incl %gs:8; rdpid %rdx; ret
	f := r.text("f", 0, "f3 48 0f ae c8 f3 48 0f ae df 65 ff 04 25 08 00 00 00 65 ff 04 25 08 00 00 00 f3 0f c7 fa c3")
	for c := range 2 {
		r.AddProgram("p", c, func(x *smp.Ctx) {
			x.Regs().R[isa.RDI] = uint64(smp.DataBase) + 16*uint64(c)
			x.Memory().Store(smp.DataBase+isa.Addr(16*c+8), 4, 0)
			x.Call(f)
			left := x.Thread().Left()
			require.Zero(t, left.R[isa.RAX])
			require.EqualValues(t, c, left.R[isa.RDX])
			v, _ := x.Memory().Load(smp.DataBase+isa.Addr(16*c+8), 4)
			require.EqualValues(t, 2, v)
		})
	}
	for _, ch := range schedules(10) {
		r.want(smp.Passed, ch)
	}
}

// The time-stamp counter is the CPU's clock: a trap takes longer than a nop.
func TestTimeStamp(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 1})
	// rdtsc; mov %eax,%ebx; BETWEEN; rdtsc; sub %ebx,%eax; ret
	nop := r.text("nop", 0, "0f 31 89 c3 90 0f 31 29 d8 c3")
	trap := r.text("trap", 0x20, "0f 31 89 c3 cc 0f 31 29 d8 c3")
	r.Hooks().Trap[smpev.VecBP] = func(*smp.Ctx, *isa.Regs) {}
	var took [2]uint64
	r.AddProgram("p", 0, func(x *smp.Ctx) {
		for i, f := range []isa.Addr{nop, trap} {
			x.Call(f)
			took[i] = x.Thread().Left().R[isa.RAX]
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
	r.Hooks().Trap[smpev.VecPF] = func(_ *smp.Ctx, regs *isa.Regs) { regs.IP += 8 }
	r.AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
	var left uint64
	r.AddProgram("q", 0, func(x *smp.Ctx) {
		x.Call(f)
		left = x.Thread().Left().R[isa.RAX]
	})
	r.want(smp.Passed, sim.Always0{})
	require.EqualValues(t, 0x1234, left)
}

// No interrupt is taken between mov to ss and the next instruction, and the
// single step's trap waits for it as well (SDM vol. 3, "Masking Exceptions and
// Interrupts When Switching Stacks").
func TestMovSS(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 1})
	f := r.text("f", 0, "8c d0 8e d0 90 90 c3") // mov %ss,%eax; mov %eax,%ss; nop; nop; ret
	r.source(smp.TimerSource, 0, 1)
	var at []isa.Addr
	r.Hooks().Trap[smpev.VecTimer] = func(_ *smp.Ctx, regs *isa.Regs) { at = append(at, regs.IP-f) }
	r.AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
	seen := map[isa.Addr]bool{}
	for want := range isa.Addr(7) {
		at = nil
		r.want(smp.Passed, director(func(*sim.Point) sim.Mover {
			if name, off, text := r.Where(0); text && name == "f" && isa.Addr(off) >= want {
				return sim.MoverSource
			}
			return sim.NoMover
		}))
		for _, a := range at {
			seen[a] = true
		}
	}
	require.Equal(t, map[isa.Addr]bool{0: true, 2: true, 5: true, 6: true}, seen)

	r = newRig(t, smp.Config{CPUs: 1})
	f = r.text("f", 0, "8c d0 9c 81 0c 24 00 01 00 00 9d 8e d0 90 90 c3") // pushf; orl $TF,(%rsp); popf in between
	at = nil
	r.Hooks().Trap[smpev.VecDB] = func(_ *smp.Ctx, regs *isa.Regs) { at = append(at, regs.IP-f) }
	r.AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
	r.run(sim.Always0{})
	require.NotEmpty(t, at)
	require.EqualValues(t, 14, at[0])
}
