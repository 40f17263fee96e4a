package kernel

import (
	"fmt"

	"kpsim/smp"
	"kpsim/smp/kapi"
)

// hotplugWait is the condition that a CPU is in a set.
type hotplugWait struct {
	set *kapi.Var[uint64]
	cpu int
}

func (w *hotplugWait) Cell() kapi.CellID { return w.set.ID() }

func (w *hotplugWait) Holds() bool { return w.set.Peek()>>w.cpu&1 != 0 }

func (h *Hotplug) initCPUs() {
	m := h.k.M
	h.online.Init(&m.Cells, h.k.Sync.all)
	h.dead.Init(&m.Cells, 0)
	for c := range m.CPUs() {
		h.gone[c], h.came[c] = hotplugWait{&h.dead, c}, hotplugWait{&h.online, c}
		h.threads[c] = m.AddPerCPU(fmt.Sprintf("cpuhp/%d", c), c, h.starts)
	}
}

// Online returns the set of CPUs that are online, as of now. A kernel in which none goes
// has no point here.
func (h *Hotplug) Online(x kapi.Context) uint64 {
	if !h.k.cfg.Offline {
		return h.k.Sync.all
	}
	return h.online.ReadOnce(x)
}

// Down is cpu_down. It does nothing if the CPU is offline.
//
//	step 1: no CPU comes or goes besides, and no reader of the lock is left
//	step 2: the machine is stopped, and the CPU leaves the set (take_cpu_down)
//	step 3: wait until it runs nothing
//
// Context: may sleep.
func (h *Hotplug) Down(x kapi.Context, cpu int) {
	h.writeLock(x)
	if h.online.ReadOnce(x)>>cpu&1 != 0 {
		x.Step("cpu_down", 2)
		h.k.Stop.machine(x, cpu, h.takeDown)

		x.Step("cpu_down", 3)
		x.Sleep(&h.gone[cpu])
	}
	h.writeUnlock(x)
}

// takeDown is take_cpu_down, by the CPU's stopper: the CPU leaves the set, answers what it
// was sent, and what waits for it goes to another one.
func (h *Hotplug) takeDown(x kapi.Context) {
	*h.online.RMW(x, kapi.Once) &^= 1 << x.CPU()
	c := ctxOf(x)
	if c.CallPending() {
		h.k.Sync.answer(c)
	}
	c.TakeDown()
}

// idleDead is told of each CPU that becomes idle: one that has gone stays there
// (cpuhp_report_idle_dead). To RCU it is idle, for ever.
func (h *Hotplug) idleDead(cpu int) {
	if !h.k.M.IsOff(cpu) || h.dead.Peek()>>cpu&1 != 0 {
		return
	}
	h.k.M.PlayDead(cpu)
	h.k.M.Footprint().TouchCell(h.dead.ID(), true)
	h.dead.Overwrite(h.dead.Peek() | 1<<cpu)
	h.k.M.Notify(h.dead.ID())
}

// Up is cpu_up. It does nothing if the CPU is online.
//
//	step 1: no CPU comes or goes besides, and no reader of the lock is left
//	step 2: the CPU comes out of reset
//	step 3: wait until it is online
//
// Context: may sleep.
func (h *Hotplug) Up(x kapi.Context, cpu int) {
	h.writeLock(x)
	if h.online.ReadOnce(x)>>cpu&1 == 0 {
		*h.dead.RMW(x, kapi.Once) &^= 1 << cpu
		x.Step("cpu_up", 2)
		h.k.M.PowerOn(cpu, !h.Stale)
		h.k.M.Wake(h.threads[cpu])

		x.Step("cpu_up", 3)
		x.Sleep(&h.came[cpu])
	}
	h.writeUnlock(x)
}

// starts is start_secondary, on the CPU that comes up.
func (h *Hotplug) starts(x *smp.Ctx) {
	x.Step("start_secondary", 1)
	x.Online()
	*h.online.RMW(x, kapi.Once) |= 1 << x.CPU()
}
