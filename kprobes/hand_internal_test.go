package kprobes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// withFaults are settings in which probes have fault handlers, for each step.
func withFaults() (list []Settings) {
	for _, step := range []era.Step{era.StepInt3, era.StepDebug} {
		s := repaired
		s.Step, s.FaultHandlers, s.Kernel.Optprobes = step, true, false
		list = append(list, s)
	}
	return list
}

// mends is a fault handler that makes loads' access good, and counts.
func mends(asked *int) FaultHandler {
	return func(_ kapi.Context, _ *Kprobe, regs *arch.Regs, _ int) int {
		*asked++
		regs.R[x86.RDI] = somewhere
		return 1
	}
}

// TestFaultNested: a hit inside a handler whose copy faults. It runs no handlers, so
// that no fault handler is asked either, and the fault is the original's: the hit
// inside is over, the one outside isn't, and when the fault is mended there is
// another one inside.
func TestFaultNested(t *testing.T) {
	for _, s := range withFaults() {
		newBench(t, s, stepTexts, func(b *bench, x *smp.Ctx) {
			asked, faults, posts := 0, 0, 0
			b.k.Traps.PageIn = func(_ *smp.Ctx, regs *arch.Regs, _ arch.Addr) bool {
				faults++
				require.Equal(t, loads.at, regs.IP)
				require.Zero(t, regs.Flags&x86.TF)
				regs.R[x86.RDI] = somewhere
				return true
			}
			inner := &Kprobe{ID: 1, Addr: loads.at, Fault: mends(&asked)}
			outer := &Kprobe{Addr: victim.at,
				Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
					require.EqualValues(t, loaded, callWith(x.(*smp.Ctx), loads.at, nowhere)&0xff)
					c := b.e.Hits.kcb.This(x)
					require.Equal(t, victim.at, c.current.addr)
					require.Equal(t, kprobeHitActive, c.status)
					return 0
				},
				Post:  func(kapi.Context, *Kprobe, *arch.Regs, uint64) { posts++ },
				Fault: func(kapi.Context, *Kprobe, *arch.Regs, int) int { asked++; return 0 }}
			require.NoError(t, b.e.Register(x, inner))
			require.NoError(t, b.e.Register(x, outer))
			require.EqualValues(t, 10, callWith(x, victim.at, 7))
			require.Equal(t, []int{0, 1, 1, 2, 0}, []int{asked, faults, posts, inner.Missed(), outer.Missed()})
			b.idle(t, x)
		}).pass(t)
	}
}

// TestFaultAsked: of several probes at an address whose copy faults the newest is
// asked first, those behind the one that has handled it aren't, and disabled ones
// never. A fault in a handler counts as a miss of each.
func TestFaultAsked(t *testing.T) {
	for _, s := range withFaults() {
		newBench(t, s, stepTexts, func(b *bench, x *smp.Ctx) {
			var asked []uint64
			answers := [5]int{}
			var ks []*Kprobe
			for id := range uint64(4) {
				k := &Kprobe{ID: id, Addr: loads.at, Fault: func(_ kapi.Context, k *Kprobe, regs *arch.Regs, _ int) int {
					asked = append(asked, k.ID)
					regs.R[x86.RDI] = somewhere
					return answers[k.ID]
				}}
				require.NoError(t, b.e.Register(x, k))
				ks = append(ks, k)
			}
			require.NoError(t, b.e.Disable(x, ks[2]))
			answers = [5]int{0, 1, 1, 0}
			require.EqualValues(t, loaded, callWith(x, loads.at, nowhere))
			require.Equal(t, []uint64{3, 1}, asked)
			b.idle(t, x)

			asked = nil // now from a handler: its own is asked
			answers[4] = 1
			faulty := &Kprobe{ID: 4, Addr: victim.at, Fault: ks[0].Fault, Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
				require.EqualValues(t, loaded, callWith(x.(*smp.Ctx), mended.at, nowhere)&0xff)
				return 0
			}}
			beside := &Kprobe{ID: 5, Addr: victim.at, Fault: ks[0].Fault}
			require.NoError(t, b.e.Register(x, faulty))
			require.NoError(t, b.e.Register(x, beside))
			require.EqualValues(t, 10, callWith(x, victim.at, 7))
			require.Equal(t, []uint64{4}, asked)
			require.Equal(t, [2]int{1, 1}, [2]int{faulty.Missed(), beside.Missed()})
			b.idle(t, x)
		}).pass(t)
	}
}

// TestFaultHandlerFaults: a fault handler of a step that faults is asked about that,
// too; a probe that it hits is missed.
func TestFaultHandlerFaults(t *testing.T) {
	for _, s := range withFaults() {
		newBench(t, s, stepTexts, func(b *bench, x *smp.Ctx) {
			var where []arch.Addr
			hits := 0
			k := &Kprobe{Addr: loads.at, Fault: func(x kapi.Context, _ *Kprobe, regs *arch.Regs, _ int) int {
				where = append(where, regs.IP)
				if len(where) == 1 {
					require.EqualValues(t, loaded, callWith(x.(*smp.Ctx), mended.at, nowhere)&0xff)
					require.EqualValues(t, 10, callWith(x.(*smp.Ctx), victim.at, 7))
				}
				regs.R[x86.RDI] = somewhere
				return 1
			}}
			inner := counting(victim.at, &hits)
			inner.ID = 1
			require.NoError(t, b.e.Register(x, k))
			require.NoError(t, b.e.Register(x, inner))
			require.EqualValues(t, loaded, callWith(x, loads.at, nowhere))
			require.Equal(t, []arch.Addr{loads.at, mended.at}, where)
			require.Equal(t, []int{0, 1}, []int{hits, inner.Missed()})
			b.idle(t, x)
		}).pass(t)
	}
}

// TestEditionLacks: a fault handler of a probe is nothing to an edition without.
func TestEditionLacks(t *testing.T) {
	for _, ed := range rules.AllEditions() {
		newBench(t, settingsOf(ed, true), stepTexts, func(b *bench, x *smp.Ctx) {
			asked := 0
			k := &Kprobe{Addr: mended.at, Fault: mends(&asked)}
			faulty := &Kprobe{ID: 1, Addr: victim.at, Fault: mends(&asked), Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
				callWith(x.(*smp.Ctx), mended.at, nowhere)
				return 0
			}}
			require.NoError(t, b.e.Register(x, k))
			callWith(x, mended.at, nowhere)
			require.NoError(t, b.e.Unregister(x, k))
			require.NoError(t, b.e.Register(x, faulty))
			callWith(x, victim.at, 7)
			want := 0
			if ed <= rules.Edition415 {
				want = 2
			}
			require.Equal(t, want, asked, "%v", ed)
			require.Equal(t, want/2, faulty.Missed(), "%v", ed)
		}).pass(t)
	}
}

// TestJprobeLast: a jprobe goes elsewhere, so that the probes beside it run first,
// whenever they came (spec 3.2).
func TestJprobeLast(t *testing.T) {
	s := settingsOf(rules.Edition26, true)
	newBench(t, s, jCodes, func(b *bench, x *smp.Ctx) {
		hits := [2]int{}
		require.NoError(t, b.e.Register(x, counting(sums.at, &hits[0])))
		require.NoError(t, b.e.Jprobes.Register(x, &Jprobe{Kprobe: Kprobe{ID: 1, Addr: sums.at}, Entry: stays.at}))
		late := counting(sums.at, &hits[1])
		late.ID = 2
		require.NoError(t, b.e.Register(x, late))
		require.EqualValues(t, 342, called(x, gives, 2))
		require.Equal(t, [2]int{1, 1}, hits)
	}).pass(t)
}
