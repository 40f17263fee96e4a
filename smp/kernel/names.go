package kernel

import (
	"fmt"

	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// CellName describes a cell of the kernel's for people; "" if the cell isn't the kernel's.
func (k *Kernel) CellName(id kapi.CellID) string {
	for _, l := range k.Locks.mutexes[:k.Locks.n] {
		if l.owner.ID() == id {
			return "the owner of " + l.name
		}
	}
	for _, l := range k.Locks.spins[:k.Locks.nSpins] {
		if l.owner.ID() == id {
			return "the owner of " + l.name
		}
	}
	for _, w := range k.Work.works[:k.Work.n] {
		if w.state.ID() == id {
			return "whether " + w.worker.Name + " is pending or running"
		}
	}
	for _, g := range k.RCU.boot {
		if g.done.ID() == id {
			return fmt.Sprintf("a grace period (cell %d)", id)
		}
	}
	if k.cfg.Hotplug {
		switch id {
		case k.Hotplug.readers.ID():
			return "the readers of cpu_hotplug_lock"
		case k.Hotplug.writer.ID():
			return "the writer of cpu_hotplug_lock"
		}
	}
	if name := k.Hotplug.cellName(id); name != "" {
		return name
	}
	for _, m := range k.Modules.list {
		switch id {
		case m.state.ID():
			return "the state of module " + m.Name
		case m.refs.ID():
			return "who holds module " + m.Name
		case m.loads.ID():
			return m.Name + "'s load"
		case m.inits.ID():
			return "whether module " + m.Name + " has its init section"
		}
	}
	switch id {
	case k.Poke.desc.ID():
		return "text_poke_bp's descriptor"
	case k.Poke.only.vec.ID():
		return "text_poke_bp's vector"
	case k.Poke.refs.ID():
		return "who holds text_poke_bp's descriptor"
	case k.Exec.lists.ID():
		return k.Exec.listsName()
	case k.Stop.state.ID():
		return "stop_machine's step"
	case k.Stop.acks.ID():
		return "stop_machine's acknowledgements"
	case k.Stacks.later.ID():
		return "whether it is time to look at stacks again"
	case k.Sync.calls.ID():
		return "the number of sync_core's last call"
	case k.Sync.wake.ID():
		return "sync_core's answers"
	}
	return ""
}

// listsName names the cell of the arena's lists.
func (e *ExecMem) listsName() string {
	name := "the lists of "
	for i := range e.k.cfg.Exec {
		if i > 0 {
			name += " and "
		}
		name += smpev.Memory.Name(e.k.cfg.Exec[i].What) + "s"
	}
	return name
}

// Number is how monitors know the module.
func (m *Module) Number() uint64 { return m.number }

// Holds returns the number of holders of the module, without its load.
func (m *Module) Holds() int {
	n := m.refs.Peek()
	switch {
	case m.coming:
		return n - 2
	case m.state.Peek() == kapi.ModuleLive:
		return n - 1
	}
	return n
}

// denies reports to monitors that rmmod is refused because the module is held.
func (m *Module) denies(x *smp.Ctx) {
	coming := uint64(0)
	if m.coming {
		coming = 1
	}
	x.Tell(smpev.Denies, m.number, coming, 0)
}
