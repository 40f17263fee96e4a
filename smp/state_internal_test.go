package smp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

// TestAddState: each thing that decides what comes makes another state of its own.
func TestAddState(t *testing.T) {
	log := new(traces.Log)
	m, err := New(Config{Arch: x86.AMD64, CPUs: 2}, log)
	require.NoError(t, err)
	defer m.Close()
	task := m.tasks.AddProgram("a", 0, func(*Ctx) {})
	timer := &Source{Kind: TimerSource, Name: "timer", AtMost: 2}
	work := &Source{Kind: WorkSource, Name: "work"}
	require.NoError(t, m.irqs.Add(timer, 0))
	require.NoError(t, m.irqs.Add(work, 0))
	const module = TextBase + 1<<20
	m.Memory().MapLater(module, 2, false)
	m.Memory().MapLater(module+2*pageSize, 1, true)
	m.Freeze()
	m.Reset(nil)
	c, other := &m.cpus.list[0], &m.cpus.list[1]
	c.task = task
	x, y := m.routines.acquire(c, task), m.routines.acquire(other, other.idle)
	task.frames = []frame{{kind: routine, ctx: x, trap: true, vector: 32}, {kind: guest}}
	var cells kapi.Cells
	var cell kapi.Var[int]
	cell.Init(&cells, 0)
	x.cond, y.cond = &kapi.Is[int]{Var: &cell}, &kapi.Is[int]{Var: &cell}

	state := func() (h sim.Hash) {
		m.State().Add(&h)
		return h
	}
	seen := map[sim.Hash]string{state(): "nothing"}
	also := func(what string, change, back func()) {
		change()
		h := state()
		back()
		require.Empty(t, seen[h], what)
		seen[h] = what
	}
	number := func(what string, at *uint64) {
		was := *at
		also(what, func() { *at++ }, func() { *at = was })
	}
	flag := func(what string, at *bool) {
		was := *at
		also(what, func() { *at = !was }, func() { *at = was })
	}

	sys := c.sys.(*x86.System)
	number("a register", &c.regs.R[x86.RCX])
	number("the flags", &c.regs.Flags)
	number("a system register", &sys.CR3)
	number("a debug register", &sys.DR[2])
	number("the base of fs", &sys.FSBase)
	also("a selector", func() { sys.Seg[x86.ES]++ }, func() { sys.Seg[x86.ES]-- })
	flag("guest", &c.guest)
	flag("NMIs are blocked", &c.nmiBlocked)
	flag("somebody wants the CPU", &c.needResched)
	flag("and won't wait", &c.urgent)
	also("a shadow", func() { c.after = shadow }, func() { c.after = 0 })
	also("a trap flag", func() { c.after = traced }, func() { c.after = 0 })
	also("an IPI", func() { c.ipi = IPICall }, func() { c.ipi = 0 })
	also("another IPI", func() { c.ipi = IPIResched }, func() { c.ipi = 0 })
	runq := c.runq
	also("a queue", func() { c.runq = []*Task{c.stopper, task} }, func() { c.runq = runq })
	also("its order", func() { c.runq = []*Task{task, c.stopper} }, func() { c.runq = runq })
	also("the current task", func() { c.task = c.idle }, func() { c.task = task })

	was := task.state
	also("a task's state", func() { task.state = sleeping }, func() { task.state = was })
	flag("a task is woken again", &task.again)
	also("preemption is off", func() { task.preempt++ }, func() { task.preempt-- })
	number("a register of a task that waits", &c.stopper.regs.R[x86.RBX])
	number("its fs", &c.stopper.system[0])
	number("its gs", &c.stopper.system[1])

	f := &task.frames[0]
	also("a vector", func() { f.vector++ }, func() { f.vector-- })
	also("where a frame lies", func() { f.base += 8 }, func() { f.base -= 8 })
	flag("a trap's frame", &f.trap)
	also("a handler that is done", func() { f.kind = iret }, func() { f.kind = routine })
	number("a call's stack", &task.frames[1].sp)
	number("what a routine has read", &x.read.Lo)
	number("a trap's register", &x.regs.R[x86.RSI])
	cond := x.cond
	also("it waits", func() { x.cond = nil }, func() { x.cond = cond })
	flag("it was begun", &x.started)
	flag("it runs in one step", &x.prompt)
	flag("it was woken", &x.looking)
	flag("it has asked for its CPU", &x.knowsCPU)
	also("what fired", func() { x.source = timer }, func() { x.source = nil })
	also("what else", func() { x.source = work }, func() { x.source = nil })

	also("a budget", func() { timer.left-- }, func() { timer.left++ })
	flag("work is queued", &work.armed)
	also("one waits", func() { m.waits.list = []*Ctx{x} }, func() { m.waits.list = nil })
	also("two do", func() { m.waits.list = []*Ctx{x, y} }, func() { m.waits.list = nil })
	also("in another order", func() { m.waits.list = []*Ctx{y, x} }, func() { m.waits.list = nil })
	flag("somebody is to look", &m.waits.recheck)
	also("a page came", func() { x.Pages().Map(module, 1) }, func() { x.Pages().Unmap(module, 1) })
	also("two did", func() { x.Pages().Map(module, 2) }, func() { x.Pages().Unmap(module, 2) })
	also("one went", func() { x.Pages().Unmap(module+2*pageSize, 1) }, func() { x.Pages().Map(module+2*pageSize, 1) })
	also("where a fault was", func() { m.mem.fault++ }, func() { m.mem.fault-- })
	also("a watched place", func() { m.mem.watched = []arch.Addr{TextBase} }, func() { m.mem.watched = nil })
	require.Equal(t, "nothing", seen[state()])

	m.foot = &m.footprint
	c.needResched = true
	require.Equal(t, "nothing", seen[state()], "no routine has ever asked for it")
	m.foot.askedResched()
	require.Equal(t, "somebody wants the CPU", seen[state()])
	require.True(t, m.foot.SharedGrew(), "all begins anew")
}
