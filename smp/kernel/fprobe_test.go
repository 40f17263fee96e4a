package kernel_test

import (
	"slices"
	"testing"

	"kpsim/engine/fprobe"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// An fprobe's handlers are called from all its functions or from none, one where a call begins
// and one where it has returned, whose result stays; two of a function hook its return one over
// the other. Each is registered once, and goes once.
func TestFprobe(t *testing.T) {
	r := newTracked(t, modes[3], smp.Config{CPUs: 2})
	var got []string
	handler := func(name string) arch.Addr {
		return r.k.BootBind(name, func(x kapi.Context, _ *arch.Regs) {
			if x.(*smp.Ctx).Thread().PreemptCount() != 1 {
				t.Errorf("%s runs with preemption on", name)
			}
			got = append(got, name)
		})
	}
	p := fprobe.New(fprobe.Deps{Hooks: func(kapi.Context, int, uint64, arch.Addr) {},
		Boot: r.k, Cells: &r.Cells, Text: &r.k.Text, Ftrace: r.ftrace.Tracer, Traps: &r.k.Traps,
		Tasks: &r.k.Tasks, CPUs: 2})
	both := p.Add([]arch.Addr{r.f, r.g}, fprobe.Handlers{Nodes: fprobe.Nodes,
		Entry: handler("enters"), Exit: handler("leaves")})
	second := p.Add([]arch.Addr{r.f}, fprobe.Handlers{Nodes: fprobe.Nodes, Exit: handler("second")})
	part := p.Add([]arch.Addr{r.g, r.aside}, fprobe.Handlers{Nodes: fprobe.Nodes, Entry: handler("part")})
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		p.Begin()
		want := func(what string, is, errno int) {
			t.Helper()
			if is != errno {
				t.Errorf("%s: %d, want %d", what, is, errno)
			}
		}
		calls := func(what string, f arch.Addr, result uint64, handlers ...string) {
			t.Helper()
			if got = got[:0]; r.call(x, f, 1) != result || !slices.Equal(got, handlers) {
				t.Errorf("%s: handlers %q, want %q", what, got, handlers)
			}
		}
		want("none to take away", both.Unregister(x), fprobe.EINVAL)
		want("one has no site", part.Register(x), fprobe.EINVAL)
		want("two functions", both.Register(x), 0)
		want("again", both.Register(x), fprobe.EBUSY)
		calls("one", r.g, 3, "enters", "leaves")
		want("a second one", second.Register(x), 0)
		calls("two: the newest hooks first, and its hook is the last to go", r.f, 2, "enters", "leaves", "second")
		calls("one still", r.g, 3, "enters", "leaves")
		want("the first goes", both.Unregister(x), 0)
		calls("the second", r.f, 2, "second")
		calls("no more", r.g, 3)
		want("the second goes", second.Unregister(x), 0)
		want("once", second.Unregister(x), fprobe.EINVAL)
		if r.isCall(x, r.f) || r.isCall(x, r.g) {
			t.Error("a site still calls ftrace")
		}
	})
	r.want(smp.Passed, "default", sim.Always0{})
}
