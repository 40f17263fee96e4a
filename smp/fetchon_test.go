package smp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// stopAt finds fault with the execution of what is at an address.
type stopAt arch.Addr

func (a stopAt) Event(e *traces.Event) *traces.Finding {
	if e.A == uint64(a) {
		return &traces.Finding{Message: "there"}
	}
	return nil
}

// Watched text that is executed without asking is what is in memory then; what a monitor
// finds fault with isn't executed, and its boundary counts.
func TestWatchedOnTheWay(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 1})
	r.Memory().MapExec(smp.ExecBase, 1)
	incs := []byte{0x48, 0xff, 0xc0, 0x48, 0xff, 0xc0, 0x48, 0xff, 0xc0, 0xc3} // inc %rax, three times; ret
	var got []uint64
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		x.Text().Write(smp.ExecBase, incs)
		for range 2 {
			x.Regs().R[x86.RAX] = 0
			got = append(got, x.Call(smp.ExecBase))
			x.Text().Write(smp.ExecBase+5, []byte{0xc8}) // the second is dec
		}
	})
	r.want(smp.Passed, sim.Always0{})
	require.Equal(t, []uint64{3, 1}, got)
	require.Len(t, r.events(smpev.Exec), 8)

	counts := func(at arch.Addr) (smp.Counts, uint64) {
		s := stopAt(at)
		r.log.Subscribe(s, smpev.Exec)
		defer r.log.Unsubscribe(s)
		got = nil
		r.want(smp.Violated, sim.Always0{})
		return r.Counts(), r.log.Digest()
	}
	first, _ := counts(smp.ExecBase)
	second, _ := counts(smp.ExecBase + 3)
	third, _ := counts(smp.ExecBase + 6)
	require.Empty(t, got)
	require.Equal(t, first.Boundaries+1, second.Boundaries)
	require.Equal(t, second.Boundaries+1, third.Boundaries)
	require.Equal(t, first.Instructions+2, third.Instructions)
}

// Before each instruction of watched text a strategy is asked that hasn't said otherwise.
func TestWatchedIsAsked(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 2})
	r.Memory().MapExec(smp.ExecBase, 1)
	for c := range 2 {
		r.Tasks().AddProgram("p", c, func(x *smp.Ctx) {
			if c == 0 {
				x.Text().Fill(smp.ExecBase, []byte{0x90, 0x90, 0x90, 0x90, 0xc3})
				x.Call(smp.ExecBase)
				x.Call(smp.ExecBase)
			}
			x.Step("p", 1)
		})
	}
	watched := 0
	r.want(smp.Passed, holder(func(p *sim.Point) {
		if p.Kind == sim.Step && p.Watched {
			watched++
		}
	}))
	require.Equal(t, 10, watched)
}

// A holder holds as long as it may.
type holder func(p *sim.Point)

func (h holder) Choose(p *sim.Point) (pick, hold int) {
	h(p)
	return 0, sim.Forever
}

// What was executed can be asked of one run after another: forgetting it changes no run.
func TestForget(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 1})
	plain := r.Memory()
	plain.Map(smp.TextBase, []byte{0x74, 0x01, 0x90, 0xc3}, smp.PermRead|smp.PermExec) // je over a nop; ret
	zero := true
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		x.Regs().Flags &^= x86.ZF
		if zero {
			x.Regs().Flags |= x86.ZF
		}
		x.Call(smp.TextBase)
	})
	at := []arch.Addr{smp.TextBase, smp.TextBase + 2, smp.TextBase + 3}
	for _, zero = range []bool{true, false, true, true, false} {
		for _, a := range at {
			plain.Forget(a)
			require.False(t, plain.Executed(a))
		}
		r.want(smp.Passed, sim.Always0{})
		require.Equal(t, []bool{true, !zero, true}, []bool{plain.Executed(at[0]), plain.Executed(at[1]),
			plain.Executed(at[2])})
	}
	plain.Forget(0x7000_0000) // nothing is there
}
