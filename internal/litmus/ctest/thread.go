package ctest

import (
	"fmt"
	"slices"

	"kpsim/sim"
	"kpsim/smp/lkmm"
)

// A Machine is the memory that threads run on. It belongs to one thread, and knows which. A
// location is its index in Test.Locations. after is what the access depends on: a load's address;
// for a store or a change also the value and the branches around it.
type Machine interface {
	Load(location int, o lkmm.Order, after lkmm.Deps) (v int64, d lkmm.Deps)
	Store(location int, v int64, o lkmm.Order, after lkmm.Deps)
	// RMW reads, and stores what change says if ok; else nothing is ordered.
	RMW(location int, o lkmm.Order, after lkmm.Deps, change func(old int64) (v int64, ok bool)) (old int64, d lkmm.Deps)
	Fence(f lkmm.Fence)
	Lock(location int)
	Unlock(location int)
	ReadLock(domain int)
	ReadUnlock(domain int)
	Synchronize(domain int)
	// Late reports whether the load that comes next is to be performed late.
	Late() bool
}

// What is pending will be performed late: a load; a Set of what such a load gives; an rmb,
// or the end of an RCU section, with a load before it. A section that ends later is
// only longer, and two that overlap are one.
type pending struct {
	op            Op
	dst, location int // -1 for none
	after         lkmm.Deps
	set           *Expr
	domain        int
}

func (l *pending) needs(local int) bool { return l.dst == local || l.set.uses(local) }

// A Thread is a thread as far as it has run. Copy makes another one.
type Thread struct {
	Test     *Test
	Prog     *Program
	Values   []int64
	pc       int
	deps     []lkmm.Deps // by local
	branches []lkmm.Deps // those that the code stands in
	late     []pending
	err      error
	used     lkmm.Deps // scratch: what an expression read
	nest     [lkmm.Domains]uint16
}

// NewThread returns a thread of the test at its beginning.
func NewThread(t *Test, thread int) *Thread {
	p := t.Threads[thread]
	return &Thread{Test: t, Prog: p, Values: slices.Clone(p.Inits), deps: make([]lkmm.Deps, len(p.Locals))}
}

// Copy makes t what o is.
func (t *Thread) Copy(o *Thread) {
	t.Test, t.Prog, t.pc, t.err, t.nest = o.Test, o.Prog, o.pc, o.err, o.nest
	t.Values = append(t.Values[:0], o.Values...)
	t.deps = append(t.deps[:0], o.deps...)
	t.branches = append(t.branches[:0], o.branches...)
	t.late = append(t.late[:0], o.late...)
}

// Run runs the thread to its end. An error is an access through something that is no
// address.
func (t *Thread) Run(m Machine) error {
	for {
		if op, _ := t.Next(); op == Done {
			return t.err
		}
		t.Step(m)
	}
}

// Err is what was wrong with the access that ended the thread, or nil.
func (t *Thread) Err() error { return t.err }

// Next says which operation Step will perform, and of which location or RCU domain. What
// concerns the thread alone is done at once.
func (t *Thread) Next() (op Op, at int) {
	for t.err == nil {
		if i := t.forced(); i >= 0 {
			l := t.late[i]
			switch l.op {
			case Set:
				t.late = slices.Delete(t.late, i, i+1)
				t.Values[l.dst], t.deps[l.dst] = t.eval(l.set)
				continue
			case Fence:
				return Fence, int(lkmm.RMB)
			case ReadUnlock:
				return ReadUnlock, l.domain
			}
			return Load, l.location
		}
		if t.pc == len(t.Prog.Code) {
			break
		}
		in := &t.Prog.Code[t.pc]
		switch in.Op {
		case Set:
			if slices.ContainsFunc(t.late, func(l pending) bool { return in.Val.uses(l.dst) }) {
				t.late = append(t.late, pending{op: Set, dst: in.Dst, location: -1, set: in.Val})
				break
			}
			t.Values[in.Dst], t.deps[in.Dst] = t.eval(in.Val)
		case Branch:
			v, d := t.eval(in.Val)
			t.branches = append(t.branches, d|t.control())
			if v == 0 {
				t.pc = in.Target
				continue
			}
		case Jump:
			t.pc = in.Target
			continue
		case Join:
			t.branches = t.branches[:len(t.branches)-1]
		case ReadUnlock:
			if t.nest[in.Domain] == 0 {
				t.err = &Error{File: t.Test.File, Line: in.Line,
					Says: "the thread isn't in the section that ends here; begin it before"}
				return Done, 0
			}
			if len(t.late) == 0 {
				return in.Op, in.Domain
			}
			t.nest[in.Domain]--
			t.late = append(t.late, pending{op: ReadUnlock, dst: -1, location: -1, domain: in.Domain})
		case ReadLock, Synchronize:
			return in.Op, in.Domain
		case Fence:
			if in.Fence != lkmm.RMB || len(t.late) == 0 {
				return in.Op, int(in.Fence)
			}
			t.late = append(t.late, pending{op: Fence, dst: -1, location: -1})
		default:
			at, _ := t.address(in)
			if t.err != nil {
				return Done, 0
			}
			return in.Op, at
		}
		t.pc++
	}
	return Done, 0
}

// forced returns what is late and has to be performed now, or -1.
func (t *Thread) forced() int {
	if len(t.late) == 0 {
		return -1
	}
	if t.pc == len(t.Prog.Code) {
		return 0
	}
	in := &t.Prog.Code[t.pc]
	switch {
	case in.forces(), in.reads() && t.hasLate(Fence):
		return 0
	}
	for i := range t.late {
		l := &t.late[i]
		if in.Op != Set && in.uses(l.dst) || in.Dst >= 0 && l.needs(in.Dst) {
			return t.first(i)
		}
	}
	if in.Addr != nil {
		at, _ := t.address(in)
		return slices.IndexFunc(t.late, func(l pending) bool { return l.location == at })
	}
	return -1
}

func (t *Thread) hasLate(op Op) bool {
	return slices.ContainsFunc(t.late, func(l pending) bool { return l.op == op })
}

// first returns what has to be performed before the late thing i is, or i.
func (t *Thread) first(i int) int {
	if set := t.late[i].set; set != nil {
		for j := range t.late[:i] {
			if set.uses(t.late[j].dst) {
				return t.first(j)
			}
		}
	}
	return i
}

func (t *Thread) control() (d lkmm.Deps) {
	if n := len(t.branches); n > 0 {
		d = t.branches[n-1]
	}
	return d
}

func (t *Thread) eval(e *Expr) (v int64, d lkmm.Deps) {
	if e == nil {
		return 0, 0
	}
	t.used = 0
	v = e.Eval(func(local int) int64 {
		t.used |= t.deps[local]
		return t.Values[local]
	})
	return v, t.used
}

// address is where an access goes.
func (t *Thread) address(in *Instr) (location int, d lkmm.Deps) {
	v, d := t.eval(in.Addr)
	location, ok := t.Test.Pointee(v)
	if !ok {
		t.err = &Error{File: t.Test.File, Line: in.Line,
			Says: fmt.Sprintf("%d is dereferenced, which is no variable's address; initialise the pointer, as y=&x", v)}
	}
	return location, d
}

// Step performs what Next named.
func (t *Thread) Step(m Machine) {
	if op, _ := t.Next(); op == Done {
		return
	}
	if i := t.forced(); i >= 0 {
		l := t.late[i]
		t.late = slices.Delete(t.late, i, i+1)
		switch l.op {
		case Fence:
			m.Fence(lkmm.RMB)
			return
		case ReadUnlock:
			m.ReadUnlock(l.domain)
			return
		}
		t.load(m, l.dst, l.location, lkmm.Relaxed, l.after)
		return
	}
	in := &t.Prog.Code[t.pc]
	t.pc++
	switch in.Op {
	case Fence:
		m.Fence(in.Fence)
	case ReadLock:
		t.nest[in.Domain]++
		m.ReadLock(in.Domain)
	case ReadUnlock:
		t.nest[in.Domain]--
		m.ReadUnlock(in.Domain)
	case Synchronize:
		m.Synchronize(in.Domain)
	default:
		t.access(m, in)
	}
}

func (t *Thread) access(m Machine, in *Instr) {
	at, after := t.address(in)
	a, on := t.eval(in.Val)
	b, also := t.eval(in.Other)
	switch in.Op {
	case Load:
		if in.late && m.Late() {
			t.late = append(t.late, pending{op: Load, dst: in.Dst, location: at, after: after})
			return
		}
		t.load(m, in.Dst, at, in.Order, after)
	case Store:
		m.Store(at, a, in.Order, after|on|t.control())
	case RMW:
		old, d := m.RMW(at, in.Order, after|on|also|t.control(), func(old int64) (int64, bool) {
			v, ok, _ := in.Change.Apply(old, a, b)
			return v, ok
		})
		if _, _, result := in.Change.Apply(old, a, b); in.Dst >= 0 {
			t.set(in.Dst, result, d)
		}
		t.performed(d)
	case TryLock:
		old, d := m.RMW(at, lkmm.Acquire, after|t.control(), func(old int64) (int64, bool) { return 1, old == 0 })
		t.set(in.Dst, truth(old == 0), d)
		t.performed(d)
	case Lock:
		m.Lock(at)
	case Unlock:
		m.Unlock(at)
	}
}

func (t *Thread) set(local int, v int64, d lkmm.Deps) { t.Values[local], t.deps[local] = v, d }

func (t *Thread) load(m Machine, dst, at int, o lkmm.Order, after lkmm.Deps) {
	v, d := m.Load(at, o, after)
	t.set(dst, v, d)
	t.performed(d)
}

// performed: what is late comes after the loads performed meanwhile, as far as these
// may have shown something.
func (t *Thread) performed(d lkmm.Deps) {
	for i := range t.late {
		t.late[i].after |= d
	}
}

// Final returns a local's value, and whether it won't change any more.
func (t *Thread) Final(local int) (v int64, final bool) {
	for _, l := range t.late {
		if l.dst == local {
			return 0, false
		}
	}
	if t.err == nil {
		for i := t.pc; i < len(t.Prog.Code); i++ {
			if t.Prog.Code[i].Dst == local {
				return 0, false
			}
		}
	}
	return t.Values[local], true
}

// Coming calls f for each load ahead that surely comes, gives a local its last value, and
// is of a known location.
func (t *Thread) Coming(f func(local, location int)) {
	for _, l := range t.late {
		if _, final := t.Final(l.dst); !final && l.op == Load && !t.assigns(l.dst, t.pc) {
			f(l.dst, l.location)
		}
	}
	for i := t.pc; t.err == nil && i < len(t.Prog.Code); i++ {
		in := &t.Prog.Code[i]
		if in.Op == Branch {
			return
		}
		if in.Op == Load && in.Addr.Op == "" && !t.assigns(in.Dst, i+1) {
			if at, ok := t.Test.Pointee(in.Addr.N); ok {
				f(in.Dst, at)
			}
		}
	}
}

func (t *Thread) assigns(local, from int) bool {
	for i := from; i < len(t.Prog.Code); i++ {
		if t.Prog.Code[i].Dst == local {
			return true
		}
	}
	return false
}

// MayStore reports whether the rest of the thread may store to the location.
func (t *Thread) MayStore(location int) bool {
	return t.err == nil && t.Prog.ahead[t.pc].stores.has(location)
}

// MayChange reports whether it may do so by a read-modify-write operation or a lock.
func (t *Thread) MayChange(location int) bool {
	return t.err == nil && t.Prog.ahead[t.pc].changes.has(location)
}

// MayWait reports whether it may wait for the sections of a domain.
func (t *Thread) MayWait(domain int) bool {
	return t.err == nil && t.Prog.ahead[t.pc].domains>>domain&1 != 0
}

// Needed is the set of loads on which something may still depend.
func (t *Thread) Needed() (d lkmm.Deps) {
	live := t.Prog.live[t.pc]
	for local, on := range t.deps {
		if live[local] || slices.ContainsFunc(t.late, func(l pending) bool { return l.set.uses(local) }) {
			d |= on
		}
	}
	for _, b := range t.branches {
		d |= b
	}
	for _, l := range t.late {
		d |= l.after
	}
	return d
}

// AddState appends where the thread stands.
func (t *Thread) AddState(h *sim.Hash) {
	h.Add(uint64(t.pc))
	for i, v := range t.Values {
		h.Add(uint64(v))
		h.Add(uint64(t.deps[i]))
	}
	for _, b := range t.branches {
		h.Add(uint64(b))
	}
	h.Add(uint64(len(t.branches)))
	for _, l := range t.late {
		h.Add(uint64(l.op)<<8 | uint64(l.domain))
		h.Add(uint64(l.dst))
		h.Add(uint64(l.location))
		h.Add(uint64(l.after))
	}
}
