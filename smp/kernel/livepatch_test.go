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
	p := livepatch.New(livepatch.Deps{Boot: r.k, Cells: &r.Cells, Text: &r.k.Text, Ftrace: r.ftrace.Tracer,
		RCU: &r.k.RCU, Tasks: &r.k.Tasks, Switches: &r.k.Switches})
	at := func(a arch.Addr) kapi.Span { return kapi.Span{From: a, To: a + 5} }
	none, first, second := livepatch.Func{Old: at(other), New: at(work)}, livepatch.Func{Old: at(work), New: at(other)},
		livepatch.Func{Old: at(work), New: at(other + 5)}
	p.AddFunc(at(work), work)
	p.AddFunc(at(other), 0)
	for _, f := range []livepatch.Func{none, first, second} {
		p.Add(f)
	}
	want := func(what string, is, errno int) {
		t.Helper()
		if is != errno {
			t.Errorf("%s: %d, want %d", what, is, errno)
		}
	}
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		p.Begin()
		rival := r.ftrace.NewOps("rival", func(kapi.Context, arch.Addr, *arch.Regs) {}, ftrace.Modifies)
		want("no site", p.Patch(x, none), livepatch.EINVAL)
		want("none to take away", p.Unpatch(x, work), livepatch.EINVAL)
		want("it may not change the path of all functions", rival.Register(x), ftrace.EINVAL)
		rival.Filter(x, work, true)
		want("a rival", rival.Register(x), 0)
		want("beside it", p.Patch(x, first), ftrace.EBUSY)
		want("nothing is left of it", p.Unpatch(x, work), livepatch.EINVAL)
		rival.Unregister(x)
		want("alone", p.Patch(x, first), 0)
		want("again", p.Patch(x, first), livepatch.EINVAL)
		want("over it", p.Patch(x, second), 0)
		want("the rival beside it", rival.Register(x), ftrace.EBUSY)
		want("the newest", p.Unpatch(x, work), 0)
		want("the rival still", rival.Register(x), ftrace.EBUSY)
		want("the oldest", p.Unpatch(x, work), 0)
		want("the rival then", rival.Register(x), 0)
		rival.Unregister(x)
	})
	r.want(smp.Passed, "default", sim.Always0{})
}
