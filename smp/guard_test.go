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

// With guards another task's instructions can't touch what lies below a task's stack
// pointer. What lies above it they can, and the task's own can touch everything.
func TestGuardStacks(t *testing.T) {
	const load, store = "8b07 c3", "8907 c3" // of (%rdi)
	for _, c := range []struct {
		name, code string
		guards     bool
		cpu        int // who executes it: the task itself is on CPU 0
		below      arch.Addr
		faults     bool
	}{
		{"dead, read", load, true, 1, 64, true},
		{"dead, written", store, true, 1, 64, true},
		{"dead, without guards", store, false, 1, 64, false},
		{"live", store, true, 1, 0, false},
		{"its own", store, true, 0, 64, false},
	} {
		r := newRig(t, smp.Config{CPUs: 2})
		f := r.text("f", 0, c.code)
		if c.guards {
			r.Memory().GuardStacks()
		}
		faults := 0
		var of *smp.Task
		r.Hooks().Trap[smpev.VecPF] = func(x *smp.Ctx, regs *arch.Regs) {
			faults++
			id, dead := x.Stacks().DeadStack(x.Pages().Fault())
			require.True(t, dead, c.name)
			require.Equal(t, of.ID, id, c.name)
			regs.IP += 2
		}
		stands, done, sp := r.flag(), r.flag(), arch.Addr(0)
		touch := func(x *smp.Ctx) {
			x.Regs().R[x86.RDI] = uint64(sp - c.below)
			x.Call(f)
			done.WriteOnce(x, 1)
		}
		of = r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
			sp = arch.Addr(x.Regs().R[x86.RSP]) - 256
			x.Regs().R[x86.RSP] = uint64(sp)
			if stands.WriteOnce(x, 1); c.cpu == 0 {
				touch(x)
			}
			x.Sleep(&done.up)
			x.Regs().R[x86.RSP] += 256
		})
		r.Tasks().AddProgram("q", 1, func(x *smp.Ctx) {
			if x.Sleep(&stands.up); c.cpu == 1 {
				touch(x)
			}
		})
		for _, observed := range []bool{false, true} {
			if faults = 0; observed {
				r.observed(smp.Passed, func() sim.Chooser { return sim.Always0{} })
			} else {
				r.want(smp.Passed, sim.Always0{})
			}
			require.Equal(t, c.faults, faults > 0, "%s, observed %v", c.name, observed)
		}
	}
}
