package kernel_test

import (
	"bytes"
	"fmt"
	"testing"

	"kpsim/engine/ftrace"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A module can be unloaded from when its load is over, not while notifiers are
// told that it is live. Once it is going every attempt to hold it fails; and
// its exit runs once.
func TestModuleIsHeld(t *testing.T) {
	p := newModular(t, modes[0], smp.Config{CPUs: 1}, false, 0)
	exits := 0
	before := p.reset
	p.reset = func() {
		before()
		exits = 0
		p.k.Modules.OnChange(func(x kapi.Context, m *kapi.Module, s kapi.ModuleState) {
			if errno := p.k.Modules.Unload(x, p.m); errno == 0 || s == kapi.ModuleLive && errno != kernel.ModuleEAGAIN {
				t.Errorf("unload while it is %v: %d", s, errno)
			}
			for range 2 {
				if s == kapi.ModuleGoing && p.k.Modules.Get(x, m) {
					t.Error("what goes can be held")
				}
			}
		})
	}
	p.hear(smpev.Exec, func(e *traces.Event) {
		if e.A == uint64(leave) {
			exits++
		}
	})
	p.Memory().Watch(leave, 1)
	p.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		for i := range 2 {
			p.k.Modules.Load(x, p.m)
			p.k.Modules.Unload(x, p.m)
			for range 2 {
				if p.k.Modules.Get(x, &p.m.Module) {
					t.Error("what is gone can be held")
				}
			}
			if exits != i+1 {
				t.Errorf("unloaded %d times its exit has run %d times", i+1, exits)
			}
		}
	})
	p.want(smp.Passed, "default", sim.Always0{})
}

// What a reader of RCU finds of a module's text stays until its section ends: init
// text when a module is loaded, all of it when it goes.
func TestModuleReaders(t *testing.T) {
	for _, md := range modes {
		t.Run(md.name, func(t *testing.T) {
			p := newModular(t, md, smp.Config{CPUs: 2}, true, 0)
			p.source(smp.TimerSource, 1, 4)
			found := [2]bool{}
			both := [2]int{}
			before := p.reset
			p.reset = func() { before(); found = [2]bool{} }
			p.hear(smpev.Free, func(e *traces.Event) {
				for i, at := range [2]arch.Addr{work, setup} {
					if e.C == smpev.ModuleMem && uint64(at)-e.A < e.B && found[i] {
						t.Errorf("%#x is freed, and a reader has found it", at)
					}
				}
			})
			p.Tasks().AddProgram("modprobe", 0, func(x *smp.Ctx) {
				for range 2 {
					p.k.Modules.Unload(x, p.m)
					p.k.Modules.Load(x, p.m)
				}
			})
			p.Tasks().AddProgram("reader", 1, func(x *smp.Ctx) {
				for range 12 {
					p.k.RCU.ReadLock(x)
					for i, at := range [2]arch.Addr{work, setup} {
						if found[i] = p.k.Modules.Find(x, at) != nil; found[i] {
							both[i]++
						}
					}
					for i := range 4 {
						x.Step("reader", i)
					}
					found = [2]bool{}
					p.k.RCU.ReadUnlock(x)
					p.k.CondResched(x)
				}
			})
			for name, ch := range schedules(60) {
				if p.want(smp.Passed, name, ch); t.Failed() {
					t.Fatal(name)
				}
			}
			if both[0] == 0 || both[1] == 0 {
				t.Errorf("found %v times", both)
			}
		})
	}
}

// A site in init text is one while that is there, and is left alone afterwards.
func TestFtraceInitText(t *testing.T) {
	r := newRig(t, modes[0], smp.Config{CPUs: 1})
	nopRet := append(bytes.Clone(x86.Nop5[:]), 0x31, 0xc0, 0xc3) // nop5; xor %eax,%eax; ret
	m := r.k.Modules.NewModule("mod", []kernel.ModuleText{{Name: "setup", At: setup, Code: nopRet, Init: true}, {Name: "work", At: work, Code: nopRet}}, setup, 0, false)
	r.ftrace.AddSite(work)
	r.ftrace.AddSite(setup)
	var seen []arch.Addr
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		o := r.ftrace.NewOps("tracer", func(_ kapi.Context, ip arch.Addr, _ *arch.Regs) { seen = append(seen, ip) }, 0)
		o.Register(x) // all sites
		r.k.Modules.Load(x, m)
		if errno := o.Filter(x, setup, true); errno != ftrace.EINVAL {
			t.Errorf("a site in text that is freed: %d", errno)
		}
		o.Unregister(x) // writes to what is there: a store to the other is the kernel's end
		o.Register(x)
		x.Call(work)
	})
	r.want(smp.Passed, "default", sim.Always0{})
	if fmt.Sprint(seen) != fmt.Sprint([]arch.Addr{setup, work}) {
		t.Errorf("called from %#x", seen)
	}
}

// A client that is registered has its filter changed: the text follows at once. What
// it changes the path of already is no conflict with itself.
func TestFtraceFilter(t *testing.T) {
	p := newTracked(t, modes[0], smp.Config{CPUs: 1})
	p.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		o := p.ftrace.NewOps("tracer", func(kapi.Context, arch.Addr, *arch.Regs) {}, ftrace.Modifies)
		look := func(what string, errno int, f, g bool) {
			if errno != 0 || p.isCall(x, p.f) != f || p.isCall(x, p.g) != g {
				t.Errorf("%s: %d; calls at f %v, at g %v", what, errno, p.isCall(x, p.f), p.isCall(x, p.g))
			}
		}
		look("a filter", o.Filter(x, p.f, true), false, false)
		look("registered", o.Register(x), true, false)
		look("another site", o.Filter(x, p.g, true), true, true)
		look("the same once more", o.Filter(x, p.g, true), true, true)
		look("one less", o.Filter(x, p.f, false), false, true)
		look("unregistered", o.Unregister(x), false, false)
	})
	p.want(smp.Passed, "default", sim.Always0{})
}
