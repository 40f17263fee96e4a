package smp_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// whole is observed where an interrupt whose handler has no point is one step. The
// timer fires where CPU 0 is to go on at an offset of the text f.
func (r *rig) whole(at int) []footstep {
	r.t.Helper()
	r.Hooks().Prompt = func(uint8, *smp.Source) bool { return true }
	f := &follower{Chooser: director(func(p *sim.Point) sim.Mover {
		if name, off, _ := r.Names().Where(0); name == "f" && off == at {
			return sim.MoverSource
		}
		return sim.NoMover
	})}
	r.Footprint().ObserveAtomicIRQs(f)
	r.want(smp.Passed, f)
	return f.steps
}

// touches tells how a step touches what has that name: "r", "w" or "".
func (r *rig) touches(s footstep, name string) string {
	for _, t := range s.touched {
		if strings.Contains(r.Names().Object(t.Object), name) {
			return map[bool]string{false: "r", true: "w"}[t.Write]
		}
	}
	return ""
}

const boundary0 = "what cpu0 can be interrupted at"

// A whole interrupt changes the clock: an instruction that asks for it comes before
// or after, and one that doesn't could come either way.
func TestWholeClock(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 2})
	f := r.text("f", 0, "90 0f 31 90 c3") // nop; rdtsc; nop; ret
	r.source(smp.TimerSource, 0, 1)
	r.Hooks().Trap[smpev.VecTimer] = func(*smp.Ctx, *arch.Regs) {}
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
	steps := r.whole(1)
	var after []string
	for i, s := range steps {
		if s.mv == sim.MoverSource {
			require.Equal(t, "r", r.touches(s, boundary0))
			for _, s := range steps[i+1 : i+4] {
				after = append(after, r.touches(s, boundary0))
			}
		}
	}
	require.Equal(t, []string{"w", "", ""}, after, "rdtsc, nop, ret: %v", steps)
}

// What monitors relate the frame to counts if the handler gives the CPU away, for
// then the interrupt isn't one step.
func TestWholeApart(t *testing.T) {
	for _, gives := range []bool{false, true} {
		r := newRig(t, smp.Config{CPUs: 2, Full: true})
		f := r.text("f", 0, "90 90 c3")
		r.source(smp.TimerSource, 0, 1)
		mate := r.Tasks().AddThread("mate", 0, func(x *smp.Ctx) { x.Step("mate", 1) })
		r.Hooks().Trap[smpev.VecTimer] = func(x *smp.Ctx, _ *arch.Regs) {
			if gives {
				r.Tasks().Wake(mate)
				x.Preempt()
			}
		}
		r.log.Subscribe(sink(func(e *traces.Event) { r.Footprint().TouchEventApart(3, 42, false) }), smpev.Trap)
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
		fire := by(r.whole(1), sim.MoverSource)
		require.Len(t, fire, 1)
		want := map[bool][2]string{false: {"", "r"}, true: {"r", "w"}}[gives]
		require.Equal(t, want, [2]string{r.touches(fire[0], "remembers of 0x2a"), r.touches(fire[0], boundary0)}, "gives the CPU away: %v", gives)

		// Where nothing is one step it always counts.
		o := &follower{Chooser: sim.Always0{}}
		r.Footprint().Observe(o)
		r.want(smp.Passed, o)
		if fire := by(o.steps, sim.MoverSource); len(fire) > 0 {
			require.Equal(t, "r", r.touches(fire[0], "remembers of 0x2a"))
		}
	}
}

type sink func(e *traces.Event)

func (s sink) Event(e *traces.Event) *traces.Finding { s(e); return nil }

// Where a tick looks at the count of preemption, a step that changes it comes
// before or after a tick.
func TestWholeNested(t *testing.T) {
	for _, nested := range []bool{false, true} {
		r := newRig(t, smp.Config{CPUs: 2})
		r.Hooks().Nested = nested
		f := r.text("f", 0, "90 c3")
		r.source(smp.TimerSource, 0, 1)
		r.Hooks().Trap[smpev.VecTimer] = func(*smp.Ctx, *arch.Regs) {}
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
			x.Call(f)
			x.Step("count", 1)
			x.PreemptDisable()
			x.Step("count", 2)
			x.PreemptEnable()
			x.Step("count", 3)
		})
		writes := 0
		for _, s := range by(r.whole(1), 0) {
			if r.touches(s, boundary0) == "w" && r.touches(s, "run queue") == "" {
				writes++
			}
		}
		want := 2 // the call, and coming back from it
		if nested {
			want += 2
		}
		require.Equal(t, want, writes)
	}
}

// forced takes down what is answered in a run that always takes the default.
type forced struct {
	footsteps follower
	picks     map[uint64]int
	n         int
}

func (f *forced) Choose(*sim.Point) (pick, hold int) { return 0, 0 }

func (f *forced) Forced(p *sim.Point, pick int) {
	f.picks[p.Seq] = pick
	f.n++
}

func (f *forced) Stepped(mv sim.Mover, touched []sim.Touch) { f.footsteps.Stepped(mv, touched) }

// scripted answers the questions of those numbers, and 0 else.
type scripted map[uint64]int

func (s scripted) Choose(p *sim.Point) (pick, hold int) { return s[p.Seq], 0 }

// What is one step is one step whichever CPU would go on by default: here the
// sender of an IPI looks at once whether it was answered, although the CPU that it
// was sent to comes first. A chooser that records the run is told, so that the run
// can be repeated.
func TestWholeForced(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 2})
	answered, slept := r.flag(), r.flag()
	r.Hooks().Prompt = func(uint8, *smp.Source) bool { return true }
	r.Hooks().Trap[smpev.VecCall] = func(x *smp.Ctx, _ *arch.Regs) { answered.WriteOnce(x, 1) }
	r.Tasks().AddProgram("asleep", 0, func(x *smp.Ctx) { x.Sleep(&slept.up) }) // goes on by default, but can't
	r.Tasks().AddProgram("sender", 1, func(x *smp.Ctx) {
		x.Step("send", 1)
		r.Interrupts().SendIPI(x, 1<<0, smp.IPICall)
		x.SpinForIPI(&answered.up)
		slept.WriteOnce(x, 1)
	})
	f := &forced{picks: map[uint64]int{}}
	r.Footprint().ObserveAtomicIRQs(f)
	r.Reset(f) // not by want, which asks by a chooser of its own
	answered.Set(0)
	slept.Set(0)
	require.Equal(t, smp.Passed, r.Run())
	require.NotZero(t, f.n)
	digest, points := r.log.Digest(), r.Counts().Points

	// The same steps as where the sender goes on.
	g := &follower{Chooser: director(func(*sim.Point) sim.Mover { return 1 })}
	r.Footprint().ObserveAtomicIRQs(g)
	r.want(smp.Passed, g)
	require.Len(t, by(f.footsteps.steps, 1), len(by(g.steps, 1)))

	r.Footprint().Observe(nil)
	r.want(smp.Passed, scripted(f.picks))
	require.Equal(t, digest, r.log.Digest())
	require.Equal(t, points, r.Counts().Points)
}
