package run

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/litmus/ctest"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/lkmm"
)

// C is a test in C: each thread is a task of a CPU of its own, which interprets the code.
// Its locations are cells, which it accesses by kapi's verbs; spinlocks are cells too.
type C struct {
	t        *ctest.Test
	m        *smp.Machine
	memory   Memory
	cells    []kapi.Var[int64]
	rcu      [lkmm.Domains]kapi.Var[int] // no value: what touches sections of the domain
	threads  []*ctest.Thread
	phase    []uint64                       // of each thread: where it is within an instruction
	inside   [lkmm.Domains][]int            // of each thread: how deep it is in sections, but under lkmm
	outlast  [lkmm.Domains][]uint64         // of each thread: the CPUs that its grace period waits for, likewise
	captions []caption                      // of each thread
	explains bool                           // something is told
	by       func(k *cThread) ctest.Machine // does a thread's operations; nil: the cThread
	err      error
}

// litmusOrders are the orders that C names.
var litmusOrders = [...]kapi.Barrier{
	lkmm.Relaxed: kapi.Once, lkmm.Acquire: kapi.PlainAcquire, lkmm.Release: kapi.PlainRelease,
	lkmm.Full:  kapi.PlainFull,
	lkmm.Deref: kapi.Through,
}

var litmusFences = [...]kapi.Barrier{lkmm.MB: kapi.PlainMB, lkmm.RMB: kapi.PlainRMB, lkmm.WMB: kapi.PlainWMB}

// ended is the phase of a thread that has done its last instruction. It may still wait for
// what its CPU holds.
const ended = 9

// NewC returns the program of a test.
func NewC(t *ctest.Test, memory Memory) (*C, error) {
	for i, p := range t.Threads {
		for k := range p.Code {
			if op := p.Code[k].Op; memory == TSO && (op == ctest.ReadLock || op == ctest.Synchronize) {
				return nil, fmt.Errorf("%s: P%d has sections or grace periods of RCU, which aren't run under "+
					"tso; give --memory lkmm", t.File, i)
			}
		}
	}
	c := &C{t: t, memory: memory, cells: make([]kapi.Var[int64], len(t.Locations)),
		phase:    make([]uint64, len(t.Threads)),
		captions: make([]caption, len(t.Threads))}
	for d := range c.inside {
		c.inside[d], c.outlast[d] = make([]int, len(t.Threads)), make([]uint64, len(t.Threads))
	}
	for i := range t.Threads {
		c.threads = append(c.threads, ctest.NewThread(t, i))
	}
	return c, nil
}

// CPUs implements Program.
func (c *C) CPUs() int { return len(c.t.Threads) }

// Build implements Program.
func (c *C) Build(m *smp.Machine) error {
	c.m = m
	for i := range c.cells {
		c.cells[i].Init(&m.Cells, c.t.Locations[i].Value)
	}
	for d := range c.rcu {
		c.rcu[d].Init(&m.Cells, 0)
	}
	for i := range c.threads {
		m.Tasks().AddProgram(threadName(i), i, func(x *smp.Ctx) {
			var k ctest.Machine = &cThread{c: c, x: x, n: i}
			if c.by != nil {
				k = c.by(k.(*cThread))
			}
			for t := c.threads[i]; ; {
				op, at := t.Next()
				if op == ctest.Done {
					break
				}
				c.phase[i] = 0
				if c.explains {
					c.tell(i, op, at)
				}
				t.Step(k)
				if c.memory == LKMM {
					m.Weak().Views().Keep(i, t.Needed())
				}
			}
			c.phase[i] = ended
			if err := c.threads[i].Err(); err != nil && c.err == nil {
				c.err = err
			}
		})
	}
	return nil
}

// Begin implements Program.
func (c *C) Begin() {
	for i := range c.cells {
		c.cells[i].Set(c.t.Locations[i].Value)
	}
	for i, t := range c.threads {
		t.Copy(ctest.NewThread(c.t, i))
	}
	clear(c.phase)
	clear(c.captions)
	for d := range c.inside {
		clear(c.inside[d])
		clear(c.outlast[d])
	}
}

// AddState implements Program.
func (c *C) AddState(h *sim.Hash) {
	for i, t := range c.threads {
		t.AddState(h)
		h.Add(c.phase[i])
	}
	for i := range c.cells {
		c.cells[i].Each(func(n int) { h.Add(uint64(n)) }, func(v int64) { h.Add(uint64(v)) })
	}
	if c.memory == LKMM {
		return // its model has them
	}
	for d := range c.inside {
		for i := range c.threads {
			h.Add(uint64(c.inside[d][i]))
			h.Add(c.outlast[d][i])
		}
	}
}

// Err is what was wrong with the test in a run, nil for nothing.
func (c *C) Err() error { return c.err }

// Outcome implements Program.
func (c *C) Outcome(*smp.Machine) (text string, holds, counts bool) {
	get := func(thread, local, location int) (int64, bool) {
		if thread < 0 {
			return c.cells[location].Peek(), true
		}
		return c.threads[thread].Values[local], true
	}
	if f := c.t.Filter; f != nil && f.Eval(get) != ctest.Yes {
		return "", false, false
	}
	return c.state(get), c.t.Prop.Eval(get) == ctest.Yes, true
}

// state names a final state by all that the condition and the filter name.
func (c *C) state(get func(thread, local, location int) (int64, bool)) string {
	var parts []string
	named := func(p *ctest.Prop) {
		v, _ := get(p.Thread, p.Local, p.Location)
		parts = append(parts, c.refName(p)+"="+c.show(v)+";")
	}
	eachRef(c.t.Prop, named)
	eachRef(c.t.Filter, named)
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), " ")
}

func eachRef(p *ctest.Prop, f func(*ctest.Prop)) {
	if p == nil {
		return
	}
	for _, a := range p.Args {
		eachRef(a, f)
	}
	if p.Op == "=" || p.Op == "!=" {
		f(p)
	}
}

// A cThread is the machine as a thread's interpreter sees it.
type cThread struct {
	c *C
	x *smp.Ctx
	n int
}

// says tells what the next access depends on.
func (k *cThread) says(after lkmm.Deps) {
	if k.c.memory == LKMM {
		k.x.After(after)
	}
}

// at says where in an instruction the thread is.
func (k *cThread) at(phase uint64) { k.c.phase[k.n] = phase }

// Load implements ctest.Machine.
func (k *cThread) Load(location int, o lkmm.Order, after lkmm.Deps) (v int64, d lkmm.Deps) {
	k.says(after)
	cell := &k.c.cells[location]
	switch o {
	case lkmm.Acquire:
		v = cell.LoadAcquire(k.x, kapi.PlainAcquire)
	case lkmm.Deref:
		v = cell.Deref(k.x)
	default:
		v = cell.ReadOnce(k.x)
	}
	if newest := cell.Peek(); newest != v {
		k.c.remark(k.n, "it reads %s, and %s is newer", k.c.show(v), k.c.show(newest))
	}
	return v, k.x.Made()
}

// Store implements ctest.Machine.
func (k *cThread) Store(location int, v int64, o lkmm.Order, after lkmm.Deps) {
	k.says(after)
	cell := &k.c.cells[location]
	switch o {
	case lkmm.Release:
		cell.StoreRelease(k.x, kapi.PlainRelease, v)
	case lkmm.Full:
		cell.StoreMB(k.x, kapi.PlainMB, v)
	default:
		cell.WriteOnce(k.x, v)
	}
	if k.c.memory == LKMM && cell.Peek() != v {
		k.c.remark(k.n, "%s goes before what is newer", k.c.show(v))
	}
	k.x.Made()
}

// RMW implements ctest.Machine.
func (k *cThread) RMW(location int, o lkmm.Order, after lkmm.Deps,
	change func(int64) (int64, bool)) (old int64, d lkmm.Deps) {
	cell, b := &k.c.cells[location], litmusOrders[o]
	if k.c.memory == TSO { // nothing of the CPU's own is held then
		k.at(1)
		k.x.Fence(kapi.PlainMB)
		k.at(2)
	}
	m := k.x.Access(cell.ID(), kapi.Write)
	k.says(after)
	old = cell.Peek()
	v, ok := change(old)
	switch {
	case ok:
		*cell.Change(k.x, b) = v
	case m != nil:
		m.Locked(cell, b, true)
	default:
		k.x.Touch(cell.ID(), kapi.Write)
	}
	return old, k.x.Made()
}

// Fence implements ctest.Machine.
func (k *cThread) Fence(f lkmm.Fence) { k.x.Fence(litmusFences[f]) }

// Lock implements ctest.Machine.
func (k *cThread) Lock(location int) {
	cell := &k.c.cells[location]
	for {
		k.at(1)
		m := k.x.Access(cell.ID(), kapi.Write)
		if cell.Peek() == 0 {
			if k.c.memory == LKMM {
				k.x.Locks()
			}
			*cell.Change(k.x, kapi.PlainFull) = 1
			k.x.Made()
			return
		}
		if m == nil {
			k.x.Touch(cell.ID(), kapi.Write)
		} else {
			k.c.m.Footprint().TouchCell(cell.ID(), false)
		}
		k.at(2)
		k.x.Spin(&kapi.Is[int64]{Var: cell, Want: 0})
	}
}

// Unlock implements ctest.Machine.
func (k *cThread) Unlock(location int) {
	if k.c.memory == LKMM {
		k.x.Locks()
	}
	k.c.cells[location].StoreRelease(k.x, kapi.PlainRelease, 0)
	k.x.Made()
}

// section is a point before what has to do with the sections of a domain.
func (k *cThread) section(domain int) {
	id := k.c.rcu[domain].ID()
	k.x.Access(id, kapi.Write)
	k.c.m.Footprint().TouchCell(id, true)
}

// ReadLock implements ctest.Machine.
func (k *cThread) ReadLock(domain int) {
	k.section(domain)
	if k.c.memory == LKMM {
		k.c.m.Weak().Views().ReadLock(k.n, domain)
		return
	}
	k.c.inside[domain][k.n]++
}

// ReadUnlock implements ctest.Machine.
func (k *cThread) ReadUnlock(domain int) {
	k.section(domain)
	if k.c.memory == LKMM {
		k.c.m.Weak().Views().ReadUnlock(k.n, domain)
		return
	}
	in := &k.c.inside[domain][k.n]
	if *in--; *in == 0 {
		for i := range k.c.outlast[domain] {
			k.c.outlast[domain][i] &^= 1 << k.n
		}
	}
}

// Synchronize implements ctest.Machine.
func (k *cThread) Synchronize(domain int) {
	k.at(1)
	k.section(domain)
	if k.c.memory == LKMM {
		k.c.m.Weak().Views().GPBegin(k.n, domain)
	} else {
		for i, in := range k.c.inside[domain] {
			if in > 0 {
				k.c.outlast[domain][k.n] |= 1 << i
			}
		}
	}
	k.at(2)
	k.x.Spin(&graceOver{k.c, domain, k.n})
	k.at(3)
	k.section(domain)
	if k.c.memory == LKMM {
		k.c.m.Weak().Views().GPEnd(k.n, domain)
	}
}

// graceOver is the condition that a thread's grace period has waited for all.
type graceOver struct {
	c         *C
	domain, n int
}

// Cell implements kapi.Cond.
func (g *graceOver) Cell() kapi.CellID { return g.c.rcu[g.domain].ID() }

// Holds implements kapi.Cond.
func (g *graceOver) Holds() bool {
	if g.c.memory == LKMM {
		v := g.c.m.Weak().Views()
		return v.Waiting(g.n, g.domain) == 0 && !v.Inside(g.n, g.domain)
	}
	return g.c.outlast[g.domain][g.n] == 0
}

// Late implements ctest.Machine.
func (k *cThread) Late() bool {
	late := k.c.memory == LKMM && k.x.Choose(2) == 1
	if t := &k.c.captions[k.n]; late && k.c.explains {
		t.prefix, t.next = t.next+" is put off; ", ""
	}
	return late
}
