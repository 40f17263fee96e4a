package rig

import (
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/sim"
	"kpsim/smp"
)

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
