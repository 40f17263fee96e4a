package smp

import (
	"fmt"
	"strings"

	"kpsim/sim"
	"kpsim/smp/kapi"
)

// Dump describes what each CPU and waiter is at, for a run that got stuck.
func (m *Machine) Dump() string {
	var b strings.Builder
	for i := range m.cpus {
		c := &m.cpus[i]
		name, off, _ := m.Where(sim.Mover(i))
		fmt.Fprintf(&b, "cpu%d: task %s in %s %d, interrupts on %v, IPI pending %#x, %d on the run queue\n",
			i, c.task.Name, name, off, c.open(), uint8(c.ipi), len(c.runq))
	}
	for _, x := range m.waiters {
		fmt.Fprintf(&b, "waiting: task %s in %s %d, for cell %d\n", x.task.Name, x.place, x.step, x.cond.Cell())
	}
	return b.String()
}

// Waiting says in one line which tasks wait, and where.
func (m *Machine) Waiting() string {
	var list []string
	for _, x := range m.waiters {
		list = append(list, fmt.Sprintf("%s waits in %s step %d", x.task.Name, x.place, x.step))
	}
	return strings.Join(list, ", ")
}

// WaitsFor returns the cell of what the task waits for, if that is what it does.
func (t *Task) WaitsFor() (cell kapi.CellID, ok bool) {
	if f := t.top(); f != nil && f.kind == routine && f.ctx.cond != nil {
		return f.ctx.cond.Cell(), true
	}
	return 0, false
}

// Waits returns for each waiter the routine and step it waits in.
func (m *Machine) Waits() []string {
	list := make([]string, len(m.waiters))
	for i, x := range m.waiters {
		list[i] = fmt.Sprintf("%s step %d", x.place, x.step)
	}
	return list
}

// Last says who is on the CPU that went on by default when the run ended, and where it
// stands.
func (m *Machine) Last() (cpu int, task, place string) {
	c := &m.cpus[0]
	if m.lead != nil {
		c = m.lead.cpu
	}
	s := m.Spot(sim.Mover(c.id))
	if s.text {
		return int(c.id), c.task.Name, m.SymbolName(s.at)
	}
	name, step, _ := m.SpotName(s)
	return int(c.id), c.task.Name, fmt.Sprintf("%s step %d", name, step)
}
