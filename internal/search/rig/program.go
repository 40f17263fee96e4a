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
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
)

// tasks are the scenario's tasks.
type tasks struct {
	all        []*program
	ownData    bool             // one task alone runs the functions
	counted    bool             // a task is in the background, and the run has probes, or one waits for the others
	waited     bool             // a task waits for the others
	probed     bool             // a call is to be probed
	foreground kernel.Countdown // with counted: how many of the tasks that aren't in the background haven't ended
	watch      OpWatcher        // nil: nothing watches operations
}

// An OpWatcher is called when a task begins an operation, by its number in the task, and when the
// operation has ended, which it doesn't if the run ends before. It changes nothing.
type OpWatcher interface {
	Begins(t act.Task, task, op int)
	Ends(t act.Task, task int)
}

// WatchOps makes w watch the operations of later runs.
func (r *Rig) WatchOps(w OpWatcher) { r.tasks.watch = w }

// boot sets the cell that tasks share to what it is before a run.
func (ts *tasks) boot(cells *kapi.Cells) {
	if !ts.counted {
		return
	}
	n := 0
	for _, p := range ts.all {
		n += int(b2u(!p.background))
	}
	ts.foreground.Init(cells, n, ts.waited)
}

// begin begins a run.
func (ts *tasks) begin() {
	for _, p := range ts.all {
		p.calls, p.came, p.begun, p.ended, p.waiting, p.hit = 0, 0, 0, 0, false, false
	}
}

// addTasks adds the scenario's tasks, and the work that they queue.
func (r *Rig) addTasks() error {
	sc := r.Scenario
	r.tasks.ownData, r.tasks.waited = onlyCaller(sc), sc.Does(act.WaitEnded)
	r.tasks.counted = r.tasks.waited
	r.tasks.probed = sc.Any(func(op *scenario.Op) bool { return op.Kind == act.Call && op.On })
	for i := range sc.Tasks {
		t := &sc.Tasks[i]
		p := &program{r: r, number: i, ops: t.Ops, repeat: max(t.Repeat, 1), setup: t.Setup,
			background: t.Background && !r.twin}
		r.tasks.counted = r.tasks.counted || p.background
		p.task = r.Machine.Tasks().AddProgram(t.Name, t.CPU, p.run)
		for _, op := range p.ops {
			p.called = append(p.called, r.called(&op)) // empty for operations that call none
			p.sets = append(p.sets, r.patchers.setKey(p, &op))
		}
		for k := range p.ops {
			act.Boot(p, p.task.ID, &p.ops[k])
		}
		p.prepareChecks()
		r.tasks.all = append(r.tasks.all, p)
	}
	r.patchers.Uprobes.Booted()
	r.patchers.bootWorks()
	r.bootByHand()
	return nil
}

// A program is a task's operations, run as a kernel routine.
type program struct {
	r      *Rig
	number int // its index among the scenario's tasks
	task   *smp.Task
	ops    []scenario.Op
	repeat int

	background bool
	waiting    bool // it has waited for the others, and counts as ended

	setup  int      // the number of operations that are done before all tasks, if the setup is kept
	calls  uint64   // the calls made so far in the run
	called []called // by operation: the function that it calls
	sets   []sets   // by operation: the key of the patchers that it sets
	checks []int    // by operation: the number of its first check
	hit    bool     // a handler of a probe has begun in its last call, with probed
	came   uint64   // a digest of its operations' results in the run
	errno  uint64   // the last answer of the API
	begun  int      // the number of operations begun in the run; ended counts those that have ended
	ended  int

	order []int                     // the operations to do, by number; nil: all, in turn (Ordered)
	after func(n int, errno uint64) // called after the n-th of order
}

func (p *program) run(x *smp.Ctx) {
	if p.order != nil {
		p.inOrder(x)
		return
	}
	first, end := 0, len(p.ops)
	switch {
	case p.r.setup.running:
		end = p.setup
	case p.r.setup.kept:
		first = p.setup
	}
	for n := range p.repeat {
		if p.background && n > 0 && p.r.tasks.foreground.Left(x) == 0 {
			break
		}
		for i := first; i < end; i++ {
			x.Forget(uint64(n*len(p.ops)+i) + 1)
			p.begun++
			p.do(x, i)
			p.ended++
		}
	}
	p.r.patchers.Hand.Ended(x)
	if p.r.tasks.counted && !p.background && !p.waiting {
		p.r.tasks.foreground.Down(x)
	}
}

// WaitEnded sleeps until each other task that isn't in the background has ended, or waits, too.
func (p *program) WaitEnded(x *smp.Ctx) {
	x.Step("wait_ended", 0)
	if !p.background && !p.waiting {
		p.waiting = true
		p.r.tasks.foreground.Down(x)
	}
	p.r.tasks.foreground.Wait(x)
}

// Operations returns how many operations a task has begun in the run so far, and how many it
// has ended. Operations done before the run (Task.Setup) don't count.
func (r *Rig) Operations(task int) (begun, ended int) {
	return r.tasks.all[task].begun, r.tasks.all[task].ended
}

// Repeats returns how many operations a task does in a run, and on which CPU.
func (r *Rig) Repeats(task int) (n, cpu int) {
	p := r.tasks.all[task]
	if n = len(p.ops) * p.repeat; r.setup.kept {
		n -= p.setup * p.repeat
	}
	return n, r.Scenario.Tasks[task].CPU
}

// Unmet returns the operation whose result differed from what the author expects, if that
// ended the last run.
func (r *Rig) Unmet() (task, op int, ok bool) {
	if p := r.checks.unmet; p != nil {
		return p.number, r.checks.unmetOp, true
	}
	return 0, 0, false
}

func (p *program) do(x *smp.Ctx, i int) {
	op := &p.ops[i]
	if p.r.twin && op.Kind.Traits&scenario.Probes != 0 {
		return
	}
	watch := p.r.tasks.watch
	if watch != nil {
		watch.Begins(p, p.number, i)
	}
	if s := &p.sets[i]; s.ok {
		x.Tell(smpev.Sets, s.key, s.value, 0)
		p.errno = 0
		act.Do(p, x, i, op)
		x.Tell(smpev.Sets, s.key, s.value, smpev.SetsEnds|p.errno<<smpev.SetsErrno)
	} else {
		act.Do(p, x, i, op)
	}
	if watch != nil {
		watch.Ends(p, p.number)
	}
}

// A program implements act.Task: operations are done on it.
var _ act.Task = (*program)(nil)

func (p *program) Kernel() *kernel.Kernel                 { return p.r.Kernel }
func (p *program) Engine() engine.Engine                  { return p.r.wiring.engine }
func (p *program) Clients() *act.Clients                  { return &p.r.patchers.Clients }
func (p *program) Func(name string) arch.Addr             { return p.r.funcs[name] }
func (p *program) Site(name string) arch.Addr             { return p.r.siteOf(name) }
func (p *program) Insn(op *scenario.Op) arch.Addr         { return p.r.breakpoint(op) }
func (p *program) Patch(op *scenario.Op) []livepatch.Func { return p.r.patchOf(op) }

// Subject returns the fprobe or the direct call that an operation is about, as in Attach.
func (p *program) Subject(op *scenario.Op) uint64 {
	sc := p.r.Scenario
	if op.Kind.Object == scenario.AnFprobe { // its name may be that of a function, too
		return smpev.SubjectFprobe + uint64(slices.IndexFunc(sc.Fprobes,
			func(f scenario.Fprobe) bool { return f.Name == op.Target }))
	}
	i := slices.IndexFunc(sc.Sites, func(s scenario.Site) bool { return s.Func == op.Target })
	return smpev.SubjectDirect + uint64(max(i, 0))
}

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

// Call calls a function and reports its results. Monitors order calls by time: a call that
// begins after a call of the API has ended comes after it, as if its task had observed that
// end.
func (p *program) Call(x *smp.Ctx, i int) {
	op, regs := &p.ops[i], x.Regs()
	p.r.anyRegs(regs, p.called[i].from)
	p.r.setArgs(regs, op.Args)
	x.Step("call", int(p.calls))
	x.Agrees()
	p.hit = false
	p.r.Census.enter(p.number, p.called[i])
	x.Call(p.called[i].from)
	p.r.Census.enter(p.number, called{})
	if op.Checked {
		p.got(x, i, 0, smpev.CheckResult, p.task.Left().R[p.r.arch.Result]&(^uint64(0)>>(64-op.Bits)), 0)
	}
	if op.On && !p.r.twin {
		p.got(x, i, int(b2u(op.Checked)), smpev.CheckCount, inCall|b2u(p.hit), uint64(p.called[i].from))
	}

	e := callEnd{uint64(p.task.ID), p.calls, p.digest(x)}
	if op.Changed {
		e.digest = 0
	}
	p.calls++
	p.came = sim.Mix(p.came ^ e.digest)
	p.r.checks.ends = append(p.r.checks.ends, e)
	if p.r.checks.left != nil {
		p.r.checks.left(e.task, e.call, p.leaves(x))
	}
	x.Emit(smpev.CallEnd, e.task, e.call, e.digest)
}

// digest folds the results of a call: every register but those that sites of ftrace and return probes use, the flags,
// the stack pointer, the stack above it but for where a return address is kept, and the data, if no other call can
// have written there.
func (p *program) digest(x *smp.Ctx) uint64 {
	left := p.task.Left()
	h := sim.Mix(p.r.left(left.Flags))
	for i, v := range left.R[:p.r.arch.Used] {
		if p.r.lost>>i&1 == 0 {
			h = sim.Mix(h ^ v)
		}
	}
	p.compared(x, func(from, to arch.Addr) { h = fold(h, x, from, to) })
	return h | 1
}

// left returns the flags that a call is compared by.
func (p *Plan) left(flags uint64) uint64 {
	if !p.flags {
		return flags & arch.IRQ
	}
	return flags
}

// fold folds memory into a digest.
func fold(h uint64, x *smp.Ctx, from, to arch.Addr) uint64 {
	for a := from; a < to; {
		size := wordAt(a, to)
		v, _ := x.Memory().Load(a, size)
		h = sim.Mix(h ^ v)
		a += arch.Addr(size)
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
			if op.Kind == act.Call || op.Kind == act.Save { // which stores to data
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
	for i := range sc.Datas {
		calls += int(b2u(sc.Datas[i].Run != ""))
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
	return calls == 1 && len(sc.Fprobes) == 0 && len(sc.Bpfs) == 0
}

// Answer records the answer of an operation that isn't about probes.
func (p *program) Answer(x *smp.Ctx, i, errno int) {
	p.came, p.errno = sim.Mix(p.came^uint64(errno)), uint64(errno)
	if p.ops[i].Checked && !p.r.twin { // without probes nothing is in the way
		p.got(x, i, 0, smpev.CheckErrno, uint64(errno), 0)
	}
}

// SetLabel switches a jump label on or off.
func (p *program) SetLabel(x *smp.Ctx, name string, on bool) {
	r := p.r
	for i, l := range r.patchers.labels.All() {
		if r.Scenario.Labels[i].Name != name {
			continue
		}
		if e := r.wiring.patcher(); e == nil || !e.SetLabel(x, i, on) {
			l.Set(x, on, r.wiring.patch)
		}
	}
}

// SetCall changes the function that a static call calls.
func (p *program) SetCall(x *smp.Ctx, name string, to arch.Addr) {
	r := p.r
	for i, s := range r.patchers.calls.All() {
		if r.Scenario.Calls[i].Name != name {
			continue
		}
		if e := r.wiring.patcher(); e == nil || !e.SetCall(x, i, to) {
			s.Update(x, to, r.wiring.unguarded())
		}
	}
}
