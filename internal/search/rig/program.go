package rig

import (
	"slices"

	"kpsim/engine"
	"kpsim/engine/livepatch"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
)

// A program is a task's operations, run as a kernel routine.
type program struct {
	r      *Rig
	number int // its index among the scenario's tasks
	task   *smp.Task
	ops    []scenario.Op
	repeat int
	setup  int      // the number of operations that are done before all tasks, if the setup is kept
	behind bool     // the task is in the background
	calls  uint64   // the calls made so far in the run
	called []called // by operation: the function that it calls
	checks []int    // by operation: the number of its first check
	came   uint64   // a digest of its operations' results in the run
	errno  uint64   // the last answer of the API
	begun  int      // the number of operations begun in the run; ended counts those that have ended
	ended  int
}

func (p *program) run(x *smp.Ctx) {
	first, end := 0, len(p.ops)
	switch {
	case p.r.settingUp:
		end = p.setup
	case p.r.kept:
		first = p.setup
	}
	for n := range p.repeat {
		if p.behind && n > 0 && p.r.front.ReadOnce(x) == 0 {
			break
		}
		for i := first; i < end; i++ {
			x.Forget(uint64(n*len(p.ops)+i) + 1)
			p.begun++
			p.do(x, i)
			p.ended++
		}
	}
	if p.r.behind && !p.behind {
		kapi.Add(&p.r.front, x, kapi.Once, -1)
	}
}

// Operations returns how many operations a task has begun in the run so far, and how many it
// has ended. Operations done before the run (Task.Setup) don't count.
func (r *Rig) Operations(task int) (begun, ended int) {
	return r.programs[task].begun, r.programs[task].ended
}

// Repeats returns how many operations a task does in a run, and on which CPU.
func (r *Rig) Repeats(task int) (n, cpu int) {
	p := r.programs[task]
	if n = len(p.ops) * p.repeat; r.kept {
		n -= p.setup * p.repeat
	}
	return n, r.Scenario.Tasks[task].CPU
}

// Unmet returns the operation whose result differed from what the author expects, if that
// ended the last run.
func (r *Rig) Unmet() (task, op int, ok bool) {
	if p := r.unmet; p != nil {
		return p.number, r.unmetOp, true
	}
	return 0, 0, false
}

func (p *program) do(x *smp.Ctx, i int) {
	if op := &p.ops[i]; !p.r.twin || op.Kind.Traits&scenario.Probes == 0 {
		act.Do(p, x, i, op)
	}
}

// A program implements act.Task: operations are done on it.
var _ act.Task = (*program)(nil)

func (p *program) Kernel() *kernel.Kernel                 { return p.r.Kernel }
func (p *program) Engine() engine.Engine                  { return p.r.engine }
func (p *program) Clients() *act.Clients                  { return &p.r.Clients }
func (p *program) Func(name string) arch.Addr             { return p.r.funcs[name] }
func (p *program) Site(name string) arch.Addr             { return p.r.siteOf(name) }
func (p *program) Insn(op *scenario.Op) arch.Addr         { return p.r.breakpoint(op) }
func (p *program) Patch(op *scenario.Op) []livepatch.Func { return p.r.patchOf(op) }

// Module returns the module of that name.
func (p *program) Module(name string) *kernel.Module {
	for _, m := range p.r.modules {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Unrefused reports whether an operation that is expected to be refused would succeed: in a
// twin no probe is in its way.
func (p *program) Unrefused(op *scenario.Op) bool { return p.r.twin && op.Checked && op.Returns != 0 }

// setArgs gives a call its arguments.
func (r *Rig) setArgs(regs *arch.Regs, args []uint64) {
	for i, a := range args {
		regs.R[r.arch.Args[i]] = a
	}
}

// Call calls a function and reports its results. Monitors order calls by time: a call that
// begins after a call of the API has ended comes after it, as if its task had observed that
// end.
func (p *program) Call(x *smp.Ctx, i int) {
	op, regs := &p.ops[i], x.Regs()
	p.r.anyRegs(regs)
	p.r.setArgs(regs, op.Args)
	x.Step("call", int(p.calls))
	x.Agrees()
	p.r.census.enter(p.number, p.called[i])
	x.Call(p.called[i].from)
	p.r.census.enter(p.number, called{})
	if op.Checked {
		p.got(x, i, 0, smpev.CheckResult, p.task.Left().R[target.Arch.Result]&(^uint64(0)>>(64-op.Bits)), 0)
	}

	e := callEnd{uint64(p.task.ID), p.calls, p.digest(x)}
	if op.Changed {
		e.digest = 0
	}
	p.calls++
	p.came = sim.Mix(p.came ^ e.digest)
	p.r.ends = append(p.r.ends, e)
	x.Emit(smpev.CallEnd, e.task, e.call, e.digest)
}

// anyRegs gives the registers values that no task has left there, so that each call starts
// alike, whatever ran before.
func (r *Rig) anyRegs(regs *arch.Regs) {
	sp := regs.R[target.Arch.SP]
	copy(regs.R[:], r.anyOf)
	regs.R[target.Arch.SP] = sp
	regs.Flags = regs.Flags&target.Arch.IRQFlag | target.Arch.FixedFlag
}

// anyValues returns the values that anyRegs assigns on a machine of architecture a.
func anyValues(a *arch.Arch) []uint64 {
	values := make([]uint64, len(a.RegNames))
	for i := range values {
		values[i] = uint64(a.Addr(arch.Addr(sim.Mix(uint64(i)))))
	}
	return values
}

// digest folds the results of a call: every register, the flags, the stack pointer, the stack
// above it, and the data, if no other call can have written there.
func (p *program) digest(x *smp.Ctx) uint64 {
	left := p.task.Left()
	h := sim.Mix(left.Flags)
	for _, v := range left.R {
		h = sim.Mix(h ^ v)
	}
	h = fold(h, x, target.Arch.StackPointer(x.Regs()), p.task.StackTop())
	if p.r.ownData {
		for i := range p.r.Scenario.Datas {
			d := &p.r.Scenario.Datas[i]
			at := p.r.copyAt(d, x.CPU())
			h = fold(h, x, at, at+arch.Addr(len(d.Bytes)))
		}
	}
	return h | 1
}

// fold folds memory into a digest.
func fold(h uint64, x *smp.Ctx, from, to arch.Addr) uint64 {
	for a := from; a < to; a++ {
		size := 1
		if a%8 == 0 && a+8 <= to {
			size = 8
		}
		v, _ := x.Memory().Load(a, size)
		h = sim.Mix(h ^ v)
		a += arch.Addr(size - 1)
	}
	return h
}

// onlyCaller reports whether one task alone runs the scenario's functions. Then no schedule
// changes what the task finds in their data.
func onlyCaller(sc *scenario.Scenario) bool {
	calls := 0
	for i := range sc.Modules {
		if len(sc.Modules[i].Data) > 0 {
			return false // modules are loaded and unloaded
		}
	}
	for i := range sc.Tasks {
		for _, op := range sc.Tasks[i].Ops {
			if op.Kind == act.Call {
				calls++
				break
			}
		}
	}
	if sc.Any(func(op *scenario.Op) bool { return op.Kind != act.Call && op.Kind.Traits&scenario.Runs != 0 }) {
		calls++
	}
	for i := range sc.Sources {
		if sc.Sources[i].Run != "" {
			calls++
		}
	}
	for i := range sc.Probes {
		k := &sc.Probes[i]
		for _, s := range slices.Concat(k.Pre, k.Post, k.Fault) {
			if s.Kind.Traits&(scenario.StepRuns|scenario.StepWrites) != 0 {
				calls++
			}
		}
		calls += int(b2u(k.Kind == scenario.ProbeJprobe))
	}
	return calls == 1 && len(sc.Fprobes) == 0
}

// called returns the function that an operation calls.
func (r *Rig) called(op *scenario.Op) (f called) {
	if op.Kind == act.Call {
		f.from = r.funcs[op.Target]
		f.to = f.from + arch.Addr(len(r.Text(op.Target).Code))
	}
	return f
}

// bootWorks makes the work items that tasks queue, in the order in which tasks name them. Each
// calls a function.
func (r *Rig) bootWorks() {
	for i := range r.Scenario.Tasks {
		for _, op := range r.Scenario.Tasks[i].Ops {
			name := op.Target
			if op.Kind.Traits&scenario.Works == 0 || r.Work[name] != nil {
				continue
			}
			if r.Work == nil {
				r.Work = make(map[string]*kernel.DelayedWork)
			}
			f := r.funcs[name]
			r.Work[name] = r.Kernel.Work.BootWork("work "+name, func(x kapi.Context) {
				r.anyRegs(x.Regs())
				x.Call(f)
			})
		}
	}
}
