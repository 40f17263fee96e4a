package kernel_test

import (
	"testing"

	"kpsim/smp"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// When Stacks.Quiesce has returned, text that can't be entered any more may go:
// no task stands in it, with its instruction pointer or in a frame that it will
// return to. Quiesce does return, even if tasks are preempted there. Without it
// some task stands there.
func TestStacksQuiesce(t *testing.T) {
	for _, md := range modes {
		for _, look := range []bool{true, false} {
			lost, waited := stacksQuiesce(t, md, look)
			if look == (lost > 0) {
				t.Errorf("%s: looked at stacks: %v; %d runs of 200 were in text that has gone", md.name, look, lost)
			}
			if look && waited == 0 && md.full {
				t.Errorf("%s: there was never anybody to wait for", md.name)
			}
		}
	}
}

func stacksQuiesce(t *testing.T, md mode, look bool) (lost, waited int) {
	r := newRig(t, md, smp.Config{CPUs: 3})
	r.k = kernel.Boot(r.Machine, kernel.Config{Exec: memory(0, 0), Preemptible: md.preemptible, Voluntary: md.voluntary, StackCheck: true})
	g := r.text("g", 0x40, loop8)
	f := r.text("f", 0, "50 e8 3a 00 00 00 58 c3") // push; call g; pop; ret
	gone := false
	r.reset = func() { gone = false }
	for c := range 3 {
		r.source(smp.TimerSource, c, 2)
		r.source(smp.PreemptSource, c, 3)
		r.Tasks().AddProgram("caller", c, func(x *smp.Ctx) {
			for range 3 {
				x.Step("between", 1)
				if to := f; !gone {
					x.Call(to)
				} else {
					x.Call(g)
				}
				r.k.CondResched(x)
			}
		})
	}
	r.Tasks().AddProgram("remover", 0, func(x *smp.Ctx) {
		x.Step("closes", 1)
		gone = true
		if look {
			r.k.Stacks.Quiesce(x, []kapi.Span{{From: f, To: f + 8}})
		}
		r.k.Text.Fill(x, f, []byte{x86.Int3, x86.Int3, x86.Int3, x86.Int3, x86.Int3, x86.Int3, x86.Int3, x86.Int3})
		r.k.Sync.Core(x, smpev.SyncPoke1)
	})
	stops := 0
	r.hear(smpev.StopStart, func(*traces.Event) { stops++ })
	for _, ch := range schedules(200) {
		stops = 0
		if o := r.run(ch); o == smp.Refused {
			lost++
		} else if o != smp.Passed {
			t.Fatalf("%s: the run ended %v\n%s", md.name, o, r.Inspect().Dump())
		}
		if stops > 1 {
			waited++
		}
	}
	return lost, waited
}
