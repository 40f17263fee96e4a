package scenario

import "fmt"

// Task is a kernel thread bound to a CPU.
type Task struct {
	Name   string
	CPU    int
	Ops    []Op
	Repeat int // how often Ops are run, at least 1

	// Setup is how many of Ops are done before any task begins, if the engine's state can be kept:
	// a run then begins after them. Otherwise they are the task's first operations.
	Setup int

	// Background says that the task isn't repeated any more when all tasks without it have ended.
	Background bool
}

// TheTasks is the row of tasks.
var TheTasks = list(func(s *Scenario) *[]Task { return &s.Tasks }, checker.checkTask, List{
	What: "task", Many: "tasks", Most: MaxTasks, Counted: "task", Space: "task", Paragraph: InPrograms,
	touches: touches(func(_ *Scenario, t *Task) (all Touches) {
		for i := range t.Ops {
			all |= t.Ops[i].touches()
		}
		return all
	}),
	Makers: []*Maker{{
		Word: "task",
		Params: []PartParam{
			param("name", PartName, func(t *Task) any { return &t.Name }).or("None"),
			param("cpu", PartCPU, func(t *Task) any { return &t.CPU }).or("0").always(),
			param("ops", PartOps, func(t *Task) any { return &t.Ops }).or("[]").always(),
			param("repeat", PartNumber, func(t *Task) any { return &t.Repeat }).or("1"),
			param("background", PartSwitch, func(t *Task) any { return &t.Background }).or("False"),
			param("setup", PartNumber, func(t *Task) any { return &t.Setup }).or("0"),
		},
		Says: "a kernel thread on a CPU that does `ops`, `repeat` times; `background`: it doesn't repeat once all " +
			"other tasks have ended; `setup`: with a kernel's own engine, whose state can be kept, this number of " +
			"`ops` runs before any task begins; with kpsim's engine they are the task's first",
		Kernel: []string{"kthread_create", "kthread_run", "kthread"},
	}},
	all: func(c checker, l *List) error {
		if len(c.s.Tasks) == 0 {
			return Faultf(PartOf(l, 0), "no tasks, so nothing runs; add task(cpu = 0, ops = [...])")
		}
		return nil
	},
})

func (c checker) checkTask(p Part, t *Task) error {
	who := p.who(t.Name)
	if err := c.cpu(p, who, t.CPU); err != nil {
		return err
	}
	if len(t.Ops) == 0 {
		return Faultf(p, "%s has nothing to do; give it ops = [call(f)]", who)
	}
	if len(t.Ops) > MaxOps {
		return Faultf(p, "%s: %d ops are too many; at most %d, and use repeat", who, len(t.Ops), MaxOps)
	}
	if t.Repeat < 1 || t.Repeat > MaxRepeat {
		return Faultf(p, "%s: repeat = %d is out of range; 1 to %d", who, t.Repeat, MaxRepeat)
	}
	if t.Setup < 0 || t.Setup > len(t.Ops) || t.Setup > 0 && t.Repeat > 1 {
		return Faultf(p, "%s: setup = %d is how many of its %d ops are done before all tasks, and a task "+
			"that repeats has none; give 0 to %d", who, t.Setup, len(t.Ops), len(t.Ops))
	}
	for j := range t.Setup {
		if k := t.Ops[j].Kind; k != nil && k.Traits&SetsUp == 0 {
			return Faultf(p.in(j), "%s ops[%d]: what sets up registers, unregisters, enables, disables, waits and "+
				"switches; leave %v to what comes after", who, j, t.Ops[j].Kind)
		}
	}
	for j := range t.Ops {
		if err := c.op(p.in(j), fmt.Sprintf("%s ops[%d]", who, j), &t.Ops[j]); err != nil {
			return err
		}
	}
	return nil
}

func (c checker) cpu(p Part, who string, cpu int) error {
	if n := c.s.Machine.CPUs; cpu < 0 || cpu >= n {
		return Faultf(p, "%s: cpu %d isn't there; the machine has cpus = %d, so 0 to %d", who, cpu, n, n-1)
	}
	return nil
}
