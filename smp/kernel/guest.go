package kernel

import (
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Guest serves an engine that is guest code. It implements kapi.Guest.
type Guest struct {
	k *Kernel
	// set at boot: from PerCPUOffset; 0: text doesn't count there
	preempt arch.Addr `state:"boot"`
	// set at boot, by TaskPreemption
	taskAt   func(t kapi.TaskID) (count, flags arch.Addr) `state:"boot"`
	wanted   kapi.Wanted                                  `state:"boot"`
	onSwitch func(cpu int, next kapi.TaskID)              `state:"boot"` // set at boot
}

// Map implements kapi.Guest.
func (g *Guest) Map(im *kapi.Image) { g.k.M.Memory().MapImage(im) }

// Left implements kapi.Guest.
func (g *Guest) Left() []*kapi.Image { return g.k.M.Memory().Left() }

// Gate implements kapi.Guest.
func (g *Guest) Gate(name string, f kapi.Routine) arch.Addr { return g.k.M.Gates().BindGuest(name, f) }

// PerCPU implements kapi.Guest.
func (g *Guest) PerCPU(cpu int, variable arch.Addr) arch.Addr {
	a := g.k.M.Arch()
	return a.Addr(PerCPUOffset(a, cpu) + variable)
}

// Preemption implements kapi.Guest.
func (g *Guest) Preemption(at arch.Addr) {
	g.preempt = at
	for c := range g.k.M.CPUs() {
		g.k.M.Processors().KeepCount(c, g.PerCPU(c, at))
	}
	g.k.M.Memory().GuardStacks()
	g.k.M.Hooks().Busy = g.busy
}

// TaskPreemption implements kapi.Guest.
func (g *Guest) TaskPreemption(at func(t kapi.TaskID) (count, flags arch.Addr), wanted kapi.Wanted) {
	g.taskAt, g.wanted = at, wanted
	g.k.M.Memory().GuardStacks()
	g.k.M.Hooks().Busy = func(x *smp.Ctx) bool {
		count, _ := at(x.Task())
		v, _ := x.Memory().Load(count, 4)
		return v != 0
	}
}

// TaskRegs implements kapi.Guest.
func (g *Guest) TaskRegs(f func(t kapi.TaskID, r *arch.Regs, s *arch.TaskState)) {
	g.k.M.Hooks().TaskRegs = f
}

// CPURegs implements kapi.Guest.
func (g *Guest) CPURegs(f func(cpu int, r *arch.Regs)) { g.k.M.Hooks().CPURegs = f }

// busy reports whether text has counted preempt_disable on a CPU.
func (g *Guest) busy(x *smp.Ctx) bool {
	v, _ := x.Memory().Load(g.PerCPU(x.CPU(), g.preempt), 4)
	return v&^preemptEnabled != 0
}

// StopAll implements kapi.Guest.
func (g *Guest) StopAll(x kapi.Context, f func(x kapi.Context)) { g.k.Stop.everywhere(x, f) }

// Thread implements kapi.Guest.
func (g *Guest) Thread(name string, f func(x kapi.Context)) (wake func()) {
	t := g.k.M.Tasks().AddThread(name, 0, func(x *smp.Ctx) { f(x) })
	return func() { g.k.M.Tasks().Wake(t) }
}

// OnSwitch implements kapi.Guest.
func (g *Guest) OnSwitch(f func(cpu int, next kapi.TaskID)) { g.onSwitch = f }

// OnOnline implements kapi.Guest.
func (g *Guest) OnOnline(f func(cpus uint64)) { g.k.Hotplug.watch(f) }

// switched is called at each context switch. It clears the request to give the CPU up for the
// next task.
func (g *Guest) switched(next *smp.Task) {
	if g.wanted != (kapi.Wanted{}) {
		_, at := g.taskAt(next.ID)
		v, _ := g.k.M.Memory().Load(at, 8)
		g.Put(at, 8, g.wanted.Not(v))
	}
	if g.preempt != 0 {
		at := g.PerCPU(next.CPUID(), g.preempt)
		v, _ := g.k.M.Memory().Load(at, 4)
		g.Put(at, 4, v|preemptEnabled)
	}
	if g.onSwitch != nil {
		g.onSwitch(next.CPUID(), next.ID)
	}
}

// Put implements kapi.Guest.
func (g *Guest) Put(at arch.Addr, size int, v uint64) { g.k.M.Memory().Put(at, size, v) }

// MapExec implements kapi.Guest.
func (g *Guest) MapExec(x kapi.Context, pages int) (arch.Addr, bool) { return g.k.Exec.run(x, pages) }

// UnmapExec implements kapi.Guest.
func (g *Guest) UnmapExec(x kapi.Context, at arch.Addr, pages int) { ctxOf(x).Pages().Unmap(at, pages) }

// DraftExec implements kapi.Guest.
func (g *Guest) DraftExec(x kapi.Context, at arch.Addr, pages int, on bool) {
	if on {
		ctxOf(x).Pages().Draft(at, pages)
		return
	}
	ctxOf(x).Pages().Publish(at, pages)
}

// MapData implements kapi.Guest.
func (g *Guest) MapData(x kapi.Context, at arch.Addr, pages int) bool {
	for i := range pages {
		if !ctxOf(x).Pages().MapData(at + arch.Addr(i*pageSize)) {
			return false
		}
	}
	return true
}

// UnmapData implements kapi.Guest.
func (g *Guest) UnmapData(x kapi.Context, at arch.Addr, pages int) { ctxOf(x).Pages().Unmap(at, pages) }

// Fault implements kapi.Guest.
func (g *Guest) Fault(x kapi.Context) arch.Addr { return ctxOf(x).Pages().Fault() }

// DeadStack implements kapi.Guest.
func (g *Guest) DeadStack(x kapi.Context, at arch.Addr) (kapi.TaskID, bool) {
	return ctxOf(x).Stacks().DeadStack(at)
}

// Busy implements kapi.Guest.
func (g *Guest) Busy(x kapi.Context) bool { return ctxOf(x).Atomic() }

// Resched implements kapi.Guest.
func (g *Guest) Resched(x kapi.Context) {
	if c := ctxOf(x); c.MustResched() && !c.Atomic() {
		c.Preempt()
	}
}

// wants sets the flag by which text sees that another task wants the CPU. The preempt_enable
// that ends text's section then gives the CPU up.
func (g *Guest) wants(x *smp.Ctx) {
	if g.wanted != (kapi.Wanted{}) {
		_, at := g.taskAt(x.Task())
		v, _ := x.Memory().Load(at, 8)
		x.Memory().Store(at, 8, g.wanted.In(v))
		return
	}
	if g.preempt == 0 {
		return
	}
	at := g.PerCPU(x.CPU(), g.preempt)
	v, _ := x.Memory().Load(at, 4)
	x.Memory().Store(at, 4, v&^preemptEnabled)
}

// Get implements kapi.Guest.
func (g *Guest) Get(at arch.Addr, size int) (uint64, bool) { return g.k.M.Memory().Load(at, size) }

// Seen implements kapi.Guest.
func (g *Guest) Seen(cpu int, at arch.Addr, size int) (uint64, bool) {
	return g.k.M.Memory().Seen(cpu, at, size)
}

// Refuse implements kapi.Guest.
func (g *Guest) Refuse(x kapi.Context, what string) {
	c := ctxOf(x)
	c.Refuse(g.k.M.Names().Symbol(c.Regs().IP), what)
}

// Why implements kapi.Guest.
func (g *Guest) Why(_ kapi.Context, why string) { g.k.M.Why(why) }

// Text implements kapi.Guest.
func (g *Guest) Text(at arch.Addr) bool { return g.k.M.Memory().Present(at) }
