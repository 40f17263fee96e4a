package kernel_test

import (
	"testing"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// The prefixes of a module, of its init section too, are what the others are from
// the time it is loaded, and nothing is written where it was when it is gone. What
// isn't a prefix, a breakpoint, stays.
func TestLockPrefixesOfModule(t *testing.T) {
	for _, loaded := range []bool{false, true} {
		r := newRig(t, modes[0], smp.Config{CPUs: 1})
		locked := []byte{0xf0, 0x48, 0xff, 0x07, 0x31, 0xc0, 0xc3} // lock incq (%rdi); xor %eax,%eax; ret
		f := r.text("f", 0, "f0 48 ff 07 c3")
		m := r.k.Modules.NewModule("m", []kernel.ModuleText{{Name: "core", At: work, Code: locked}, {Name: "init", At: setup, Code: locked, Init: true}}, 0, 0, loaded)
		for _, at := range []arch.Addr{f, work, setup} {
			r.k.Prefix.Add(at)
		}
		at := func(x kapi.Context, a arch.Addr) byte {
			var b [1]byte
			r.k.Text.Read(x, a, b[:])
			return b[0]
		}
		during, write := byte(0), false
		r.reset = func() {
			r.k.Modules.OnChange(func(x kapi.Context, _ *kapi.Module, s kapi.ModuleState) {
				if s == kapi.ModuleComing {
					during = at(x, setup)
				}
			})
		}
		want := func(what string, got, want byte) {
			t.Helper()
			if got != want {
				t.Errorf("loaded %v: %s: %#x", loaded, what, got)
			}
		}
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
			if loaded {
				r.k.Prefix.Set(x, false)
				want("a module that was there", at(x, work), 0x3e)
				r.k.Modules.Unload(x, m)
			} else { // nothing of the run before: to a module that isn't here nothing is written, and one that comes keeps its prefixes
				if write {
					r.k.Prefix.Set(x, false)
					r.k.Prefix.Set(x, true)
				}
				r.k.Modules.Load(x, m)
				want("loaded at first", at(x, work), 0xf0)
				want("its init section, at first", during, 0xf0)
				r.k.Modules.Unload(x, m)
			}
			r.k.Prefix.Set(x, false)
			want("the kernel's own", at(x, f), 0x3e)
			if errno := r.k.Modules.Load(x, m); errno != 0 {
				t.Errorf("errno %d", errno)
			}
			want("loaded", at(x, work), 0x3e)
			want("and its init section", during, 0x3e)
			r.k.Prefix.Set(x, true) // the init section is gone: to store there would be the end of the run
			want("put there", at(x, work), 0xf0)
			r.k.Modules.Unload(x, m)
			r.k.Prefix.Set(x, false)

			r.k.Text.Poke(x, f, []byte{x86.Int3})
			r.k.Prefix.Set(x, true)
			want("a breakpoint", at(x, f), x86.Int3)
			r.k.Modules.Load(x, m)
			r.k.Prefix.Set(x, false)
		})
		r.want(smp.Passed, "default", sim.Always0{})
		r.want(smp.Passed, "once more", sim.Always0{})
		write = true
		r.want(smp.Passed, "and with a write first", sim.Always0{})
	}
}
