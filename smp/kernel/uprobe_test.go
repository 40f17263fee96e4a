package kernel_test

import (
	"slices"
	"testing"

	"kpsim/engine/uprobe"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A task hits a uprobe: two traps of user mode, each with the selectors of user mode in its
// frame, owned by uprobes; the handler runs once, with interrupts on, where it may sleep; and
// user mode goes on behind the instruction. Another task gets the CPU on the way, without
// preemption, too.
func TestUprobe(t *testing.T) {
	for _, mode := range modes {
		r := newRig(t, mode, smp.Config{CPUs: 1})
		f := r.text("f", 0, "b8 07 00 00 00 c3") // mov $7,%eax; ret
		u := uprobe.New(uprobe.Deps{Boot: r.k, Arch: r.Arch(), Traps: &r.k.Traps})
		r.reset = func() {
			u.Begin()
			r.k.Traps.OnUser(func(x kapi.Context, _ *arch.Regs) {
				frame := arch.Addr(x.Regs().R[x86.RSP])
				if cs, ok := x.Memory().Load(frame+x86.PtCS, 8); !ok || cs != x86.UserCS {
					t.Errorf("%s: the frame's cs is %#x", mode.name, cs)
				}
				if c := x.(*smp.Ctx); c.Atomic() || !r.k.Traps.FromUser(x) {
					t.Errorf("%s: on the way back to user mode a task may sleep", mode.name)
				}
				x.Sleep(kapi.Yield)
			})
		}
		var owners, what []uint64
		r.hear(smpev.Claim, func(e *traces.Event) { owners = append(owners, e.A<<8|e.C) })
		r.hear(smpev.Uprobe, func(e *traces.Event) { what = append(what, e.B) })
		beside := false
		p := r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
			u.Hit(x, uprobe.Hit{Handler: f})
			if !beside {
				t.Errorf("%s: the other task hasn't run", mode.name)
			}
			if r.k.Traps.FromUser(x) {
				t.Errorf("%s: the task is back in the kernel", mode.name)
			}
		})
		u.Add(p.ID, uprobe.Hit{})
		r.Tasks().AddProgram("q", 0, func(x *smp.Ctx) { beside = true })
		r.want(smp.Passed, "default", sim.Always0{})
		if want := []uint64{smpev.VecBP<<8 | smpev.OwnerUprobe,
			smpev.VecDB<<8 | smpev.OwnerUprobe}; !slices.Equal(owners, want) {
			t.Errorf("%s: owners %#x, want %#x", mode.name, owners, want)
		}
		if want := []uint64{smpev.UprobeHit, smpev.UprobeRuns, smpev.UprobeSteps, smpev.UprobeDone}; !slices.Equal(what,
			want) {
			t.Errorf("%s: %d, want %d", mode.name, what, want)
		}
	}
}
