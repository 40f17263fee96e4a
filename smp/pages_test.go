package smp_test

import (
	"testing"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Pages come and go while the machine runs: a CPU that runs text that is gone
// faults, even where it ran before; and the next run begins as the first did. A
// state shows it.
func TestPagesComeAndGo(t *testing.T) {
	for _, here := range []bool{false, true} {
		r := newRig(t, smp.Config{CPUs: 1})
		at := smp.TextBase + 0x10000
		code := []byte{0xb8, 7, 0, 0, 0, 0xc3} // mov $7,%eax; ret
		r.Memory().MapLater(at, 1, here)
		if here {
			r.Memory().Map(at, code, smp.PermRead|smp.PermExec)
		}
		ret := r.text("ret", 0x100, "31 c0 c3")
		faults := 0
		r.Hooks().Trap[smpev.VecPF] = func(x *smp.Ctx, regs *arch.Regs) {
			faults++
			if regs.IP != at || x.Pages().Fault() != at {
				t.Errorf("a fault at %#x, about %#x", regs.IP, x.Pages().Fault())
			}
			regs.IP = ret
		}
		var states []sim.Hash
		state := func() {
			var h sim.Hash
			r.State().Add(&h)
			states = append(states, h)
		}
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
			want := uint64(0)
			if here {
				want = 7
			}
			for range 3 {
				if got := x.Call(at); got != want || r.Memory().Present(at) != (want == 7) {
					t.Errorf("here %v: returned %d, want %d", here, got, want)
				}
				state()
				if want == 7 {
					x.Pages().Unmap(at, 1)
				} else {
					x.Pages().Map(at, 1)
				}
				state()
				if want == 0 {
					x.Text().Fill(at, code)
				}
				want = 7 - want
			}
		})
		for range 2 {
			faults, states = 0, states[:0]
			if r.want(smp.Passed, sim.Always0{}); faults == 0 {
				t.Error("nobody has faulted")
			}
			if states[0] == states[1] {
				t.Error("that a page has come or gone is in no state")
			}
		}
	}
}

// A store to text that is gone ends the run, as the kernel's own fault does.
func TestStoreToAway(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 1})
	at := smp.TextBase + 0x10000
	r.Memory().MapLater(at, 1, false)
	oops := 0
	r.Log().Subscribe(oopses(func(e *traces.Event) {
		if oops++; e.C != uint64(at) {
			t.Errorf("about %#x", e.C)
		}
	}), smpev.Oops)
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { x.Text().Write(at, []byte{x86.Int3}) })
	if r.want(smp.Refused, sim.Always0{}); oops != 1 {
		t.Errorf("%d oopses", oops)
	}
}

type oopses func(e *traces.Event)

// Event implements traces.Sink.
func (c oopses) Event(e *traces.Event) *traces.Finding { c(e); return nil }
