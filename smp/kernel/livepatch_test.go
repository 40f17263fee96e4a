package kernel_test

import (
	"testing"

	"kpsim/engine/ftrace"
	"kpsim/engine/livepatch"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A live patch is refused where there is no site, and where another client changes the path;
// the newest of several is in force, and each goes once.
func TestLivepatch(t *testing.T) {
	r := newTracked(t, modes[0], smp.Config{CPUs: 2})
	work, other := r.f, r.aside
	p := livepatch.New(livepatch.Deps{Boot: r.k, Cells: &r.Cells, Ftrace: r.ftrace.Tracer, Stacks: &r.k.Stacks})
	p.AddFunc(work, work)
	p.AddFunc(other, 0)
	want := func(what string, is, errno int) {
		t.Helper()
		if is != errno {
			t.Errorf("%s: %d, want %d", what, is, errno)
		}
	}
	r.AddProgram("p", 0, func(x *smp.Ctx) {
		p.NoWait = true // no stack is looked at here
		p.Begin()
		rival := r.ftrace.NewOps("rival", func(kapi.Context, arch.Addr, *arch.Regs) {}, ftrace.Modifies)
		size := func(arch.Addr) int { return 1 }
		want("no site", p.Patch(x, other, work), livepatch.EINVAL)
		want("none to take away", p.Unpatch(x, work, size), livepatch.EINVAL)
		rival.Filter(x, work, true)
		want("a rival", rival.Register(x), 0)
		want("beside it", p.Patch(x, work, other), ftrace.EBUSY)
		want("nothing is left of it", p.Unpatch(x, work, size), livepatch.EINVAL)
		rival.Unregister(x)
		want("alone", p.Patch(x, work, other), 0)
		want("over it", p.Patch(x, work, other+5), 0)
		want("the rival beside it", rival.Register(x), ftrace.EBUSY)
		want("the newest", p.Unpatch(x, work, size), 0)
		want("the rival still", rival.Register(x), ftrace.EBUSY)
		want("the oldest", p.Unpatch(x, work, size), 0)
		want("the rival then", rival.Register(x), 0)
		rival.Unregister(x)
	})
	r.want(smp.Passed, "default", sim.Always0{})
}
