package kernel_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"kpsim/engine/ftrace"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/fetch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A tracked is a machine with two functions that have a site: f returns its
// argument plus 1, g plus 2, and aside returns 100.
type tracked struct {
	*rig
	f, g, aside arch.Addr
}

func newTracked(t testing.TB, md mode, cfg smp.Config) *tracked {
	p := &tracked{rig: newRig(t, md, cfg)}
	p.lockdep()
	p.f = p.text("f", 0x0c, "0f 1f 44 00 00 8d 47 01 c3") // nop5; lea 1(%rdi),%eax; ret: the site lies across chunks
	p.g = p.text("g", 0x20, "0f 1f 44 00 00 8d 47 02 c3")
	p.aside = p.text("aside", 0x40, "b8 64 00 00 00 c3")
	for _, at := range []arch.Addr{p.g, p.f} { // in any order
		if _, ok := p.ftrace.AddSite(at); !ok {
			t.Fatal("out of reach")
		}
	}
	return p
}

func (p *tracked) call(x *smp.Ctx, f arch.Addr, arg uint64) uint64 {
	x.Regs().R[x86.RDI] = arg
	return x.Call(f)
}

func (p *tracked) isCall(x kapi.Context, at arch.Addr) bool {
	var b [5]byte
	p.k.Text.Read(x, at, b[:])
	if b[0] != 0xe8 && b != x86.Nop5 {
		p.t.Errorf("%#x holds % x", at, b)
	}
	return b[0] == 0xe8
}

// What a handler sees, what it may change, and which sites it is called from.
func TestFtraceHandler(t *testing.T) {
	p := newTracked(t, modes[3], smp.Config{CPUs: 2})
	ft := p.ftrace
	p.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		var got []string
		change := func(*arch.Regs) {}
		sp := uint64(0)
		first := ft.NewOps("first", func(x kapi.Context, ip arch.Addr, regs *arch.Regs) {
			got = append(got, fmt.Sprintf("first %#x %#x %d", ip-p.f, regs.IP-p.f, regs.R[x86.RDI]))
			sp = regs.R[x86.RSP]
			if x.(*smp.Ctx).Thread().PreemptCount() != 1 || !x.(*smp.Ctx).Open() {
				t.Error("a handler runs with preemption off, and interrupts as they were")
			}
			change(regs)
		}, ftrace.Modifies)
		second := ft.NewOps("second", func(x kapi.Context, ip arch.Addr, regs *arch.Regs) {
			got = append(got, fmt.Sprintf("second %#x", ip-p.f))
		}, 0)
		rival := ft.NewOps("rival", func(kapi.Context, arch.Addr, *arch.Regs) {}, ftrace.Modifies)
		expect := func(what string, value, want uint64, handlers ...string) {
			t.Helper()
			if value != want || fmt.Sprint(got) != fmt.Sprint(handlers) {
				t.Errorf("%s: returned %d, want %d; handlers %q", what, value, want, got)
			}
			got = got[:0]
		}
		expect("nobody", p.call(x, p.f, 1), 2)
		if errno := first.Filter(x, p.f+1, true); errno != ftrace.EINVAL {
			t.Errorf("no site: %d", errno)
		}
		if errno := first.Filter(x, p.f, true) + first.Register(x); errno != 0 {
			t.Errorf("register: %d", errno)
		}
		if !p.isCall(x, p.f) || p.isCall(x, p.g) {
			t.Error("f alone has a client")
		}
		before := x.Regs().R[x86.RSP]
		expect("first", p.call(x, p.f, 1), 2, "first 0x0 0x5 1")
		if sp != before&^15-8 {
			t.Errorf("the handler saw rsp %#x, as f did %#x", sp, before&^15-8)
		}
		expect("g", p.call(x, p.g, 1), 3)
		change = func(regs *arch.Regs) { regs.R[x86.RDI] = 10 }
		expect("rdi changed", p.call(x, p.f, 1), 11, "first 0x0 0x5 1")
		change = func(regs *arch.Regs) { regs.IP = p.aside }
		expect("ip changed", p.call(x, p.f, 1), 100, "first 0x0 0x5 1")
		change = func(*arch.Regs) {}

		if errno := second.Register(x); errno != 0 || !p.isCall(x, p.g) {
			t.Errorf("a client without a filter is called from all sites; %d", errno)
		}
		expect("both, the newest first", p.call(x, p.f, 1), 2, "second 0x0", "first 0x0 0x5 1")
		expect("second on g", p.call(x, p.g, 1), 3, "second 0x14")
		rival.Filter(x, p.f, true)
		if errno := rival.Register(x); errno != ftrace.EBUSY {
			t.Errorf("two clients that change the path: %d", errno)
		}
		rival.Filter(x, p.f, false)
		rival.Filter(x, p.g, true)
		if errno := rival.Register(x); errno != 0 {
			t.Errorf("on another site: %d", errno)
		}
		if errno := rival.Filter(x, p.f, true); errno != ftrace.EBUSY {
			t.Errorf("then on this: %d", errno)
		}
		if errno := first.Unregister(x) + second.Unregister(x) + rival.Unregister(x); errno != 0 {
			t.Errorf("unregister: %d", errno)
		}
		if errno := first.Unregister(x); errno != ftrace.EINVAL {
			t.Errorf("unregister twice: %d", errno)
		}
		if p.isCall(x, p.f) || p.isCall(x, p.g) {
			t.Error("a site is still a call")
		}
		expect("nobody again", p.call(x, p.f, 1), 2)
	})
	for range 2 {
		p.want(smp.Passed, "default", sim.Always0{})
	}
}

// Sites are rewritten under running CPUs: what these see is a nop, a call, or a
// breakpoint that is handled as either, on each of them; each call of f and g
// returns what it should; and after Unregister of a dynamic client no handler
// of it runs.
func TestFtraceUnderRunningCPUs(t *testing.T) {
	for _, md := range modes {
		for _, model := range models {
			t.Run(fmt.Sprintf("%s/%v", md.name, model), func(t *testing.T) {
				handled, poked, late, wrong := raceFtrace(t, md, model, nil, ftrace.Dynamic, 12)
				if handled == 0 || poked == 0 || late != 0 || wrong != 0 {
					t.Errorf("%d handlers ran, %d of them late, %d breakpoints were the patcher's, %d wrong results",
						handled, late, poked, wrong)
				}
			})
		}
	}
	// One that isn't dynamic may still be in its handler: that is for its user to
	// wait for.
	if _, _, late, _ := raceFtrace(t, modes[0], fetch.Coherent, nil, 0, 60); late == 0 {
		t.Error("unregistering waits though nobody asked it to")
	}
}

func raceFtrace(t testing.TB, md mode, model fetch.Model, steps []kernel.PokeStep, flags ftrace.Flags,
	n uint64) (handled, poked, late, wrong int) {
	p := newTracked(t, md, smp.Config{CPUs: 3, Fetch: model})
	for c := range 3 {
		p.source(smp.NMISource, c, 1)
	}
	p.onInterrupt(func(x *smp.Ctx) {
		if p.call(x, p.g, 5) != 7 {
			wrong++
		}
	})
	p.hear(smpev.Claim, func(e *traces.Event) {
		if e.C == smpev.OwnerPoke {
			poked++
		}
	})
	gone := false
	before := p.reset
	p.reset = func() {
		before()
		gone = true
		if steps != nil {
			p.k.Poke.Steps = steps
		}
	}
	p.Tasks().AddProgram("tracer", 0, func(x *smp.Ctx) {
		o := p.ftrace.NewOps("tracer", func(x kapi.Context, ip arch.Addr, regs *arch.Regs) {
			for i := range 20 { // long enough for an unregistering beside it
				x.Step("handler", i)
			}
			if handled++; gone {
				late++
			}
		}, flags)
		for i := range 3 {
			gone = false
			o.Register(x)
			x.Step("tracer", i)
			o.Unregister(x)
			gone = true
		}
	})
	for c := 1; c < 3; c++ {
		p.Tasks().AddProgram("runner", c, func(x *smp.Ctx) {
			for range 5 {
				if p.call(x, p.f, 1) != 2 || p.call(x, p.g, 1) != 3 {
					wrong++
				}
				p.k.CondResched(x)
			}
		})
	}
	for name, ch := range schedules(n) {
		if got := p.run(ch); got != smp.Passed && steps == nil {
			t.Fatalf("%s: %v (%v)", name, got, p.Refusal())
		} else if got != smp.Passed {
			wrong++
		}
	}
	return handled, poked, late, wrong
}

// A batch whose descriptor is taken back before the last sync shows.
func TestBatchMutants(t *testing.T) {
	early := slices.Insert(slices.Clone(kernel.PokeSteps), 3, (*kernel.TextPoke).TakeBack)
	if _, _, _, wrong := raceFtrace(t, modes[0], fetch.Mixing, early, ftrace.Dynamic, 120); wrong == 0 {
		t.Error("nothing came of it")
	}
}

// A batch whose addresses aren't in order is cut into several; were it not, no
// handler would claim a breakpoint of it. (R29)
func TestBatchOrder(t *testing.T) {
	for _, unsorted := range []bool{false, true} {
		p := newTracked(t, modes[0], smp.Config{CPUs: 2})
		images, syncs, bad := 0, 0, 0
		p.hear(smpev.Image, func(*traces.Event) { images++ })
		p.hear(smpev.SendIPI, func(*traces.Event) { syncs++ })
		before := p.reset
		p.reset = func() {
			before()
			if unsorted {
				p.k.Poke.Shared = func(list []kapi.Rewrite) int { return len(list) }
			}
		}
		jump, _ := x86.JumpRel32(p.f, p.aside)
		p.Tasks().AddProgram("patcher", 0, func(x *smp.Ctx) {
			p.k.Text.Mutex().Lock(x)
			p.k.Poke.Batch(x, []kapi.Rewrite{{At: p.g, Insn: x86.Nop5[:]}, {At: p.f, Insn: jump[:]}})
			p.k.Text.Mutex().Unlock(x)
		})
		p.Tasks().AddProgram("runner", 1, func(x *smp.Ctx) {
			for range 4 {
				p.call(x, p.f, 1)
				p.call(x, p.g, 1)
			}
		})
		for _, ch := range schedules(40) {
			if p.run(ch) != smp.Passed {
				bad++
			}
		}
		if bad > 0 != unsorted {
			t.Errorf("unsorted %v: %d runs ended badly", unsorted, bad)
		}
		images, syncs = 0, 0
		p.run(sim.Always0{})
		if want := map[bool]int{false: 6, true: 3}[unsorted]; images != 2 || syncs != want {
			t.Errorf("unsorted %v: %d images with %d syncs", unsorted, images, syncs)
		}
	}
}

// A batch whose first bytes all stay breakpoints needs no third sync; what then
// keeps its descriptor from being used after it is gone is the wait for handlers
// that hold it. (R31)
func TestBatchHeld(t *testing.T) {
	for _, no := range []bool{false, true} {
		r := newRig(t, modes[0], smp.Config{CPUs: 3})
		f := r.text("f", 0, "cc 1f 44 00 00 c3")
		g := r.text("g", 0x40, "cc 1f 44 00 00 c3")
		r.reset = func() {
			if no {
				r.k.Poke.Steps = kernel.PokeSteps[:len(kernel.PokeSteps)-1]
			}
			r.k.Traps.OnBreakpoint(func(x kapi.Context, regs *arch.Regs) uint64 {
				regs.IP += 4
				return ownerOwn
			})
		}
		busy, late, sp := 0, 0, 0
		r.hear(smpev.SendIPI, func(*traces.Event) { sp++ })
		r.Tasks().AddProgram("patcher", 0, func(x *smp.Ctx) {
			r.k.Text.Mutex().Lock(x)
			for i := range 3 {
				tail := byte(i)
				sp = 0
				r.k.Poke.Batch(x, []kapi.Rewrite{{At: f, Insn: []byte{x86.Int3, 1, tail, 3, 4}},
					{At: g, Insn: []byte{x86.Int3, 1, tail, 3, 4}}})
				if sp != 2 {
					t.Errorf("%d syncs", sp)
				}
				if r.k.Poke.Held() {
					late++
				}
				x.Step("patcher", i)
			}
			r.k.Text.Mutex().Unlock(x)
		})
		for c := 1; c < 3; c++ {
			r.Tasks().AddProgram("runner", c, func(x *smp.Ctx) {
				for range 6 {
					x.Call(f)
					x.Call(g)
					busy++
				}
			})
		}
		died := 0
		for name, ch := range schedules(40) {
			switch got := r.run(ch); {
			case got == smp.Refused && no: // it looked through the next batch's
				died++
			case got != smp.Passed:
				t.Fatalf("%s: the run ended %v (%v)", name, got, r.Refusal())
			}
		}
		if late > 0 != no || died > 0 != no || busy == 0 {
			t.Errorf("without the wait %v: %d times a handler held a descriptor that was gone, %d times it used one",
				no, late, died)
		}
	}
}

// Sites of a module come and go with it.
func TestFtraceModule(t *testing.T) {
	r := newRig(t, modes[0], smp.Config{CPUs: 2})
	m := r.k.Modules.NewModule("mod",
		[]kernel.ModuleText{{Name: "work", At: work, Code: append(bytes.Clone(x86.Nop5[:]), 0xc3)}}, 0, 0, false)
	r.ftrace.AddSite(work)
	n := 0
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		o := r.ftrace.NewOps("tracer", func(kapi.Context, arch.Addr, *arch.Regs) { n++ }, 0)
		if errno := o.Filter(x, work, true); errno != ftrace.EINVAL {
			t.Errorf("a site that isn't there: %d", errno)
		}
		o.Register(x)
		for range 2 {
			r.k.Modules.Load(x, m)
			x.Call(work)
			if errno := o.Filter(x, work, true); errno != 0 {
				t.Errorf("a site that is there: %d", errno)
			}
			r.k.Modules.Unload(x, m)
		}
		o.Unregister(x)
	})
	for range 2 {
		n = 0
		if r.want(smp.Passed, "default", sim.Always0{}); n != 2 {
			t.Errorf("%d calls", n)
		}
	}
}
