package shell

import (
	"fmt"
	"strings"

	"kpsim/smp"
	"kpsim/smp/arch"
)

// Commands that run on to a place: finish, next and until.

// A depth says how deep a task is in calls: what next, finish and reverse-next compare.
type depth struct {
	task   *smp.Task
	levels int
	text   bool
	at, sp arch.Addr
	link   arch.Addr // where a function that keeps its return address in a register returns to; 0: there is none
	inside string    // the function
	place  string    // where the CPU stands if it isn't in text
}

// depthOf returns the depth of what a CPU runs.
func (h *machine) depthOf(cpu int) depth {
	m := h.Rig.Machine
	task := m.Inspect().Current(cpu)
	levels := m.Inspect().Levels(task)
	d := depth{task: task, levels: len(levels)}
	if len(levels) == 0 || !levels[0].Text() || levels[0].At&^0xfffff == smp.GateBase { // that is where text leaves
		d.place = h.at(cpu)
		return d
	}
	d.text, d.at, d.sp = true, levels[0].At, levels[0].SP
	d.inside, _, _ = m.Names().SymbolAt(d.at)
	if regs, _ := m.Inspect().Regs(cpu); m.Arch().Pushed == 0 {
		d.link = arch.Addr(regs.R[m.Arch().Link])
	}
	return d
}

// now returns the present depth of the task of an earlier one; ok false: no CPU runs it.
func (h *machine) now(of *depth) (d depth, ok bool) {
	if of.task.Dead() {
		return depth{task: of.task}, true
	}
	cpu := of.task.CPUID()
	if h.Rig.Machine.Inspect().Current(cpu) != of.task {
		return d, false
	}
	return h.depthOf(cpu), true
}

// returned reports whether the function of d0 has returned.
func (d *depth) returned(d0 *depth) bool {
	return d.levels < d0.levels || d.levels == d0.levels && d.text && d0.text && d.inside != d0.inside &&
		(d.sp > d0.sp || d0.link != 0 && d.at == d0.link)
}

// beside reports whether the task stands at another instruction of the same function, or of one that called it; if d0
// is in a routine, whether it stands at another place no deeper.
func (d *depth) beside(d0 *depth) bool {
	if !d0.text {
		return d.levels <= d0.levels && d.place != d0.place
	}
	return d.returned(d0) || d.levels == d0.levels && d.text && d.inside == d0.inside && d.at != d0.at
}

// beginsAt returns the depth from which finish and next go on. It returns an error if the CPU runs nothing.
func (h gdb) beginsAt(args []string) (int, depth, error) {
	cpu, err := h.cpuOf(args)
	if err != nil {
		return 0, depth{}, err
	}
	d := h.s.depthOf(cpu)
	if h.stops.about = cpu; d.levels == 0 {
		return 0, d, fmt.Errorf("cpu%d runs nothing; where says what each CPU runs, cpu N chooses another", cpu)
	}
	return cpu, d, nil
}

// finish is the command finish.
func (h gdb) finish(args []string) error {
	cpu, d0, err := h.beginsAt(args)
	if err != nil {
		return err
	}
	_, left, _ := strings.Cut(h.s.at(cpu), " ") // after at or in
	return h.goUntil(func() string {
		d, ok := h.s.now(&d0)
		if !ok || !d.returned(&d0) {
			return ""
		}
		m := h.s.Rig.Machine
		regs, _ := m.Inspect().Regs(cpu)
		return fmt.Sprintf("%s has returned from %s, is %s; %s = %s, %s", d0.task.Name, left, h.s.at(cpu),
			m.Arch().RegNames[m.Arch().Result], h.s.number(regs.R[m.Arch().Result]), h.s.position())
	})
}

// next is the command next.
func (h gdb) next(args []string) error {
	cpu, d0, err := h.beginsAt(args)
	if err != nil {
		return err
	}
	before := len(h.s.Rig.Log.Events)
	defer func() { printSince(h.sh, before) }()
	return h.goUntil(func() string {
		if d, ok := h.s.now(&d0); !ok || !d.beside(&d0) {
			return ""
		}
		return fmt.Sprintf("cpu%d  %s, %s, %s", cpu, d0.task.Name, h.s.at(cpu), h.s.position())
	})
}

// until is the command until: break, continue, and delete.
func (h gdb) until(args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	s, remark, err := h.stopAt("until", args)
	if err != nil {
		return err
	}
	if remark != "" {
		h.p.Indented("  ", remark)
	}
	h.stops.once = s
	h.stops.list = append(h.stops.list, s)
	return h.tellUnmet(s, h.one([]string{"continue"}))
}

// goUntil runs on until met says why the machine is to stop; "" means not yet. The journal has the continue: repeated,
// it ends where it ended, whichever CPU is selected then.
func (h gdb) goUntil(met func() string) error {
	h.stops.met = met
	return h.one([]string{"continue"})
}
