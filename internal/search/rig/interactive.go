package rig

import (
	"fmt"

	"kpsim/engine"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/lang"
	"kpsim/kprobes"
	"kpsim/sim"
	"kpsim/smp"
)

// mostAdded is how many probes an interactive run may add to those of the scenario.
const mostAdded = 256

// NewInteractive builds a rig for an interactive run: its tasks begin when they are woken, all
// its text is watched, and probes can be added.
func NewInteractive(sc *scenario.Scenario, mutantName string) (*Rig, error) {
	r, err := build(sc, mutantName, false, (*Rig).watchAll)
	if err != nil {
		return nil, err
	}
	for _, p := range r.tasks.all {
		p.task.Hold()
	}
	r.Judges.withoutTwin()
	return r, nil
}

// watchAll watches all text, and tells the monitors about it, because a probe may be put
// anywhere.
func (r *Rig) watchAll() error {
	if err := r.listing.addWatched(false); err != nil {
		return err
	}
	for i := range r.Scenario.Texts {
		t := &r.Scenario.Texts[i]
		r.Machine.Memory().Watch(t.At, len(t.Code))
	}
	return nil
}

// AddProbe adds a probe to those of the scenario, during a run. It isn't registered yet.
// Errors include what the edition lacks.
func (r *Rig) AddProbe(p scenario.Probe) error {
	n := len(r.wiring.config.Probes)
	if r.probes.added == mostAdded {
		return fmt.Errorf("a session has at most %d probes of its own", mostAdded)
	}
	had := r.probes.hasContexts()
	r.Scenario.Probes = append(r.Scenario.Probes, p)
	if err := lang.Check(r.Scenario); err != nil {
		r.Scenario.Probes = r.Scenario.Probes[:n]
		return err
	}
	r.probes.make()
	r.wiring.engine.Add(r.wiring.config.Probes[n])
	r.probes.added++
	r.Census.add(r.probes.addrs[n])
	r.probes.reportProbe(n)
	if !had && r.probes.hasContexts() {
		r.probes.reportContexts(0)
	}
	return nil
}

// See makes each call of a handler also call f, with the registers that the handler gets.
func (r *Rig) See(f func(h engine.Hit)) { r.probes.onHit = f }

// Tasks returns the scenario's tasks.
func (r *Rig) Tasks() []*smp.Task {
	list := make([]*smp.Task, len(r.tasks.all))
	for i, p := range r.tasks.all {
		list[i] = p.task
	}
	return list
}

// Operation returns a routine that does an operation as one of the scenario's tasks would. The
// routine returns what the API answered, and what a call left in rax.
func (r *Rig) Operation(t *smp.Task, op scenario.Op) func(x *smp.Ctx) (errno kprobes.Errno, rax uint64) {
	p := &program{r: r, task: t, ops: []scenario.Op{op}, repeat: 1, called: []called{r.called(&op)}}
	p.sets = []sets{r.patchers.setKey(p, &op)}
	return func(x *smp.Ctx) (kprobes.Errno, uint64) {
		p.do(x, 0)
		return kprobes.Errno(p.errno), t.Left().R[r.arch.Result]
	}
}

// An Ordered is a rig whose only task does other operations in each run: those of the scenario,
// in any order, each as often as it is listed. So thousands of serial programs run on one machine,
// without building it again.
type Ordered struct {
	*Rig
	program *program
	ends    []callEnd // by operation: how a call ends without probes
}

// NewOrdered builds one. The scenario has one task, which doesn't repeat, and whose operations
// pass one after the other without probes. after is called after each operation of a run, with
// its position in the order and the last answer of the API, from the task's routine.
func NewOrdered(sc *scenario.Scenario, mutantName string, after func(n int, errno uint64)) (*Ordered, error) {
	r, err := New(sc, mutantName)
	if err != nil {
		return nil, err
	}
	o := &Ordered{Rig: r, program: r.tasks.all[0]}
	o.program.after = after
	calls := 0
	for i := range o.program.ops {
		end := callEnd{}
		if o.program.ops[i].Kind == act.Call {
			end, calls = r.checks.expects[calls], calls+1
		}
		o.ends = append(o.ends, end)
	}
	return o, nil
}

// Do runs the operations in the given order, under ch. The rig keeps the list.
func (o *Ordered) Do(ch sim.Chooser, order []int) Run {
	p, c := o.program, &o.checks
	p.order, c.expects = order, c.expects[:0]
	for _, i := range order {
		if p.ops[i].Kind == act.Call {
			end := o.ends[i]
			end.call = uint64(len(c.expects))
			c.expects = append(c.expects, end)
		}
	}
	return o.Run(ch)
}

// Result returns what the last call left in the result's register.
func (o *Ordered) Result() uint64 { return o.program.task.Left().R[o.program.r.arch.Result] }

// inOrder does the operations of an Ordered.
func (p *program) inOrder(x *smp.Ctx) {
	for n, i := range p.order {
		x.Forget(uint64(n) + 1)
		p.errno = 0
		p.begun++
		p.do(x, i)
		p.ended++
		p.after(n, p.errno)
	}
}
