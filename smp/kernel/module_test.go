package kernel_test

import (
	"fmt"
	"slices"
	"testing"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// moduleBase is where the tests' module lies.
const moduleBase = smp.TextBase + 0x100000

// A modular is a machine with a module: work, which returns 7, and in the init
// section setup, which returns what the test says, by a symbol each.
type modular struct {
	*rig
	m      *kernel.Module
	told   []string // what the notifier was told, and what it found then
	faults int
}

const (
	work  = moduleBase
	leave = moduleBase + 0x10
	setup = moduleBase + 0x1000
)

// newModular makes one; ret is what setup returns.
func newModular(t testing.TB, md mode, cfg smp.Config, loaded bool, ret byte) *modular {
	p := &modular{rig: newRig(t, md, cfg)}
	setupCode := []byte{0xb8, ret, 0, 0, 0, 0xc3} // mov $ret,%eax; ret
	if ret >= 0x80 {
		setupCode = []byte{0xb8, ret, 0xff, 0xff, 0xff, 0xc3}
	}
	p.m = p.k.Modules.NewModule("mod", []kernel.ModuleText{
		{Name: "setup", At: setup, Code: setupCode, Init: true},
		{Name: "leave", At: leave, Code: []byte{0xc3}},
		{Name: "work", At: work, Code: []byte{0xb8, 7, 0, 0, 0, 0xc3}, Extable: []int{0}},
	}, setup, leave, loaded)
	before := p.reset
	p.reset = func() {
		before()
		p.told, p.faults = p.told[:0], 0
		p.k.Modules.OnChange(func(x kapi.Context, m *kapi.Module, s kapi.ModuleState) {
			p.told = append(p.told, fmt.Sprintf("%v: state %v, core %v, init %v, present %v %v, can be held %v", s,
				p.k.Modules.State(x, m), p.found(x, work), p.found(x, setup), p.Memory().Present(work),
				p.Memory().Present(setup), p.tryHold(x, m)))
		})
	}
	return p
}

func (p *modular) found(x kapi.Context, at arch.Addr) bool {
	_, symbol := p.k.Symbols.Lookup(at)
	text := p.k.Modules.Find(x, at) == &p.m.Module
	if symbol != text {
		p.t.Errorf("%#x: symbol %v, module text %v", at, symbol, text)
	}
	return text
}

func (p *modular) tryHold(x kapi.Context, m *kapi.Module) bool {
	ok := p.k.Modules.Get(x, m)
	if ok {
		p.k.Modules.Put(x, m)
	}
	return ok
}

// A module comes, lives and goes; its sections and names with it; and the next
// run begins as the first.
func TestModuleLife(t *testing.T) {
	p := newModular(t, modes[0], smp.Config{CPUs: 2}, false, 0)
	p.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		ms := &p.k.Modules
		for range 2 {
			if p.found(x, work) || p.found(x, setup) || p.Memory().Present(work) ||
				ms.Unload(x, p.m) != kernel.ModuleENOENT {
				t.Error("it is found before it was loaded")
			}
			if errno := ms.Load(x, p.m); errno != 0 {
				t.Errorf("load: %d", errno)
			}
			if errno := ms.Load(x, p.m); errno != kernel.ModuleEEXIST {
				t.Errorf("load of a loaded one: %d", errno)
			}
			if got := x.Call(work); got != 7 {
				t.Errorf("work returned %d", got)
			}
			if !p.found(x, work) || p.found(x, setup) || p.Memory().Present(setup) {
				t.Error("not its core alone is there")
			}
			if !ms.Get(x, &p.m.Module) || ms.Unload(x, p.m) != kernel.ModuleEAGAIN {
				t.Error("it was unloaded though somebody held it")
			}
			ms.Put(x, &p.m.Module)
			if errno := ms.Unload(x, p.m); errno != 0 {
				t.Errorf("unload: %d", errno)
			}
			if ms.Get(x, &p.m.Module) {
				t.Error("it can be held when it is gone")
			}
		}
	})
	want := []string{
		"coming: state coming, core true, init true, present true true, can be held true",
		"live: state live, core true, init true, present true true, can be held true",
		"going: state going, core true, init false, present true false, can be held false",
	}
	for range 2 {
		p.want(smp.Passed, "default", sim.Always0{})
		if !slices.Equal(p.told, append(slices.Clone(want), want...)) {
			t.Errorf("told:\n%q\nwant twice:\n%q", p.told, want)
		}
	}
}

// A module whose init fails goes again at once, with what it had.
func TestModuleInitFails(t *testing.T) {
	p := newModular(t, modes[0], smp.Config{CPUs: 1}, false, 0xf4) // -12
	p.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		if errno := p.k.Modules.Load(x, p.m); errno != 12 {
			t.Errorf("load: %d, want 12", errno)
		}
		if p.found(x, work) || p.Memory().Present(work) || p.Memory().Present(setup) {
			t.Error("it is still there")
		}
	})
	p.want(smp.Passed, "default", sim.Always0{})
	want := []string{
		"coming: state coming, core true, init true, present true true, can be held true",
		"going: state going, core true, init true, present true true, can be held false",
	}
	if !slices.Equal(p.told, want) {
		t.Errorf("told %q", p.told)
	}
}

// Kernels that can't load, or can't unload.
func TestModuleConfig(t *testing.T) {
	for _, c := range []struct {
		cfg          kernel.Config
		load, unload int
	}{
		{kernel.Config{}, 0, 0},
		{kernel.Config{NoUnload: true}, 0, kernel.ModuleENOSYS},
		{kernel.Config{NoModules: true}, kernel.ModuleENOSYS, kernel.ModuleENOSYS},
	} {
		m, err := smp.New(smp.Config{Arch: x86.AMD64, CPUs: 1}, new(traces.Log))
		if err != nil {
			t.Fatal(err)
		}
		k := kernel.Boot(m, c.cfg)
		mod := k.Modules.NewModule("mod", []kernel.ModuleText{{Name: "work", At: work, Code: []byte{0xc3}}}, 0, 0,
			false)
		m.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
			if load, unload := k.Modules.Load(x, mod), k.Modules.Unload(x, mod); load != c.load || unload != c.unload {
				t.Errorf("%+v: load %d, unload %d", c, load, unload)
			}
		})
		m.Reset(sim.Always0{})
		k.Reset()
		if got := m.Run(); got != smp.Passed {
			t.Errorf("%v: %v", got, m.Refusal())
		}
		m.Close()
	}
}

// Text that is gone can't be run: a CPU that reaches it faults. A module that
// others run while it is held never faults, in any schedule, whichever fetches
// are stale, and loaded anew it is what it was.
func TestModuleUnderRunningCPUs(t *testing.T) {
	for _, md := range modes {
		for _, model := range models {
			t.Run(fmt.Sprintf("%s/%v", md.name, model), func(t *testing.T) {
				p := newModular(t, md, smp.Config{CPUs: 3, Fetch: model}, true, 0)
				p.source(smp.TimerSource, 1, 3)
				p.Tasks().AddProgram("modprobe", 0, func(x *smp.Ctx) {
					for i := range 6 {
						if errno := p.k.Modules.Unload(x, p.m); errno == 0 {
							p.k.Modules.Load(x, p.m)
						}
						x.Step("modprobe", i)
					}
				})
				refused, ran, wrong := 0, 0, 0
				for c := 1; c < 3; c++ {
					p.Tasks().AddProgram("user", c, func(x *smp.Ctx) {
						for range 5 {
							m := p.k.Modules.Find(x, work)
							if m == nil || !p.k.Modules.Get(x, m) {
								refused++
								x.Sleep(kapi.Yield)
								continue
							}
							if x.Call(work) != 7 {
								wrong++
							}
							ran++
							p.k.Modules.Put(x, m)
						}
					})
				}
				for name, ch := range schedules(12) {
					p.want(smp.Passed, name, ch)
				}
				if refused == 0 || ran == 0 || wrong != 0 {
					t.Errorf("%d refused, %d ran, %d with a wrong result", refused, ran, wrong)
				}
			})
		}
	}
	// A task that doesn't hold it may run into text that is gone.
	p := newModular(t, modes[0], smp.Config{CPUs: 2}, true, 0)
	oops := 0
	p.hear(smpev.Oops, func(e *traces.Event) {
		if e.A == smpev.VecPF && e.B == uint64(work) {
			oops++
		}
	})
	p.Tasks().AddProgram("rmmod", 0, func(x *smp.Ctx) { p.k.Modules.Unload(x, p.m) })
	p.Tasks().AddProgram("user", 1, func(x *smp.Ctx) {
		for range 5 {
			x.Call(work)
		}
	})
	for _, ch := range schedules(30) {
		p.run(ch)
	}
	if oops == 0 {
		t.Error("nobody ran freed text")
	}
}

// A store to text that is gone is the kernel's end.
func TestStoreToFreedText(t *testing.T) {
	p := newModular(t, modes[0], smp.Config{CPUs: 1}, true, 0)
	oops := 0
	p.hear(smpev.Oops, func(e *traces.Event) {
		if e.C == uint64(work) {
			oops++
		}
	})
	p.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		p.k.Modules.Unload(x, p.m)
		p.k.Text.Poke(x, work, []byte{x86.Int3})
	})
	if p.want(smp.Refused, "default", sim.Always0{}); oops != 1 {
		t.Errorf("%d oopses", oops)
	}
}
