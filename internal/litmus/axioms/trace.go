package axioms

import (
	"fmt"

	"kpsim/internal/litmus/ctest"
	"kpsim/smp/lkmm"
)

// A kind is what an event is.
type kind uint8

// The kinds. A barrier is named as in the kernel; synchronize, readLock and readUnlock have a
// domain: 0 is RCU, others are srcu_structs.
const (
	read kind = iota
	write
	mb
	rmb
	wmb
	beforeAtomic
	afterAtomic
	afterSpinlock
	afterUnlockLock
	afterSRCUUnlock
	readLock
	readUnlock
	synchronize
)

var fences = map[string]kind{
	"smp_mb": mb, "mb": mb, "smp_rmb": rmb, "rmb": rmb, "smp_wmb": wmb, "wmb": wmb,
	"smp_mb__before_atomic": beforeAtomic, "smp_mb__after_atomic": afterAtomic, "smp_mb__after_spinlock": afterSpinlock,
	"smp_mb__after_unlock_lock": afterUnlockLock, "smp_mb__after_srcu_read_unlock": afterSRCUUnlock,
}

// An event is a load, a store, a barrier, or what a section or a grace period of RCU does.
type event struct {
	kind     kind
	thread   int
	line     int
	location int
	value    int64
	domain   int

	plain    bool // neither READ_ONCE nor WRITE_ONCE nor stronger
	acquire  bool
	release  bool
	noReturn bool // the load of an operation that returns nothing: an rmb doesn't order it
	atomic   bool // of a read-modify-write operation, also of one that fails
	locks    bool // the load or the store of a spinlock that is taken
	unlocks  bool
	pair     int // its store, for the load of a read-modify-write operation, by its place in the thread; or 0

	addr, data, ctrl sources // on which its address, its value and its being done depend
}

func (e *event) memory() bool { return e.kind <= write }

// sources are loads and srcu_read_locks of a thread, numbered in the order of the program.
type sources uint64

// A trace is what a thread does if its loads give certain values.
type trace struct {
	events []event
	from   []int // of each source: the event
	locals []int64
	err    error // the last event would be an access through something that is no address
}

// A tracer runs a thread alone. Its loads take each of the values that a location may have.
type tracer struct {
	test   *ctest.Test
	thread int
	values func(location int) []int64
	free   bool // branches and operations that may fail go either way, whatever the values are

	t        *trace
	deps     []sources // by local
	script   []int     // which values loads have taken
	widths   []int
	asked    int
	inside   [lkmm.Domains]int
	branches []sources
}

// mostSources and mostEvents bound a trace.
const (
	mostSources = 64
	mostEvents  = 1024
)

// each calls f with each trace that ends. It returns false if f did.
func (r *tracer) each(f func(*trace) bool) bool {
	r.script, r.widths = nil, nil
	for {
		if r.run() && !f(r.t) {
			return false
		}
		n := len(r.script) - 1
		for n >= 0 && r.script[n] == r.widths[n]-1 {
			n--
		}
		if n < 0 {
			return true
		}
		r.script, r.widths = r.script[:n+1], r.widths[:n+1]
		r.script[n]++
	}
}

// run makes the trace of the script. It reports whether that ends: a lock that is held, or a grace
// period within a section of its own, keeps the thread for ever.
func (r *tracer) run() (ends bool) {
	p := r.test.Threads[r.thread]
	r.t = &trace{locals: append([]int64(nil), p.Inits...)}
	r.deps = make([]sources, len(p.Locals))
	r.asked, r.branches = 0, r.branches[:0]
	clear(r.inside[:])
	for pc := 0; pc < len(p.Code); {
		in := &p.Code[pc]
		pc++
		switch in.Op {
		case ctest.Branch:
			v, d := r.eval(in.Val)
			r.branches = append(r.branches, d|r.control())
			if !r.may(v != 0) {
				pc = in.Target
			}
		case ctest.Jump:
			pc = in.Target
		case ctest.Join:
			r.branches = r.branches[:len(r.branches)-1]
		default:
			if !r.step(in) {
				return r.t.err != nil
			}
		}
	}
	return true
}

func (r *tracer) control() sources {
	if n := len(r.branches); n > 0 {
		return r.branches[n-1]
	}
	return 0
}

func (r *tracer) eval(e *ctest.Expr) (v int64, d sources) {
	if e == nil {
		return 0, 0
	}
	v = e.Eval(func(local int) int64 {
		d |= r.deps[local]
		return r.t.locals[local]
	})
	return v, d
}

// add appends an event and returns its place.
func (r *tracer) add(in *ctest.Instr, e event) int {
	e.thread, e.line, e.domain = r.thread, in.Line, in.Domain
	e.ctrl = r.control()
	if len(r.t.events) == mostEvents {
		r.t.err = fmt.Errorf("%s:%d: a thread of more than %d accesses and barriers", r.test.File, in.Line, mostEvents)
		return len(r.t.events) - 1
	}
	r.t.events = append(r.t.events, e)
	return len(r.t.events) - 1
}

// source makes an event one that others may depend on.
func (r *tracer) source(in *ctest.Instr, at int) sources {
	if len(r.t.from) == mostSources {
		r.t.err = fmt.Errorf("%s:%d: a thread of more than %d loads", r.test.File, in.Line, mostSources)
		return 0
	}
	r.t.from = append(r.t.from, at)
	return 1 << (len(r.t.from) - 1)
}

// take asks which value a load gives.
func (r *tracer) take(location int) int64 {
	values := r.values(location)
	if r.asked == len(r.script) {
		r.script, r.widths = append(r.script, 0), append(r.widths, len(values))
	}
	r.asked++
	return values[r.script[r.asked-1]]
}

// may is a condition, or any answer if the tracer is free.
func (r *tracer) may(holds bool) bool {
	if !r.free {
		return holds
	}
	if r.asked == len(r.script) {
		r.script, r.widths = append(r.script, 0), append(r.widths, 2)
	}
	r.asked++
	return r.script[r.asked-1] == 0
}

// step does an instruction. It returns false if the thread goes no further.
func (r *tracer) step(in *ctest.Instr) bool {
	switch in.Op {
	case ctest.Set:
		r.t.locals[in.Dst], r.deps[in.Dst] = r.eval(in.Val)
		if in.Val.Op == "cookie" {
			r.deps[in.Dst] = r.source(in, len(r.t.events)-1) // the srcu_read_lock just done
		}
	case ctest.Fence:
		r.add(in, event{kind: fences[in.Name]})
	case ctest.ReadLock:
		r.inside[in.Domain]++
		r.add(in, event{kind: readLock})
	case ctest.ReadUnlock:
		if r.inside[in.Domain]--; r.inside[in.Domain] < 0 {
			r.t.err = &ctest.Error{File: r.test.File, Line: in.Line,
				Says: "the thread isn't in the section that ends here; begin it before"}
			return false
		}
		_, cookie := r.eval(in.Val)
		r.add(in, event{kind: readUnlock, data: cookie})
	case ctest.Synchronize:
		if r.inside[in.Domain] > 0 {
			return false
		}
		r.add(in, event{kind: synchronize})
	default:
		return r.access(in) && r.t.err == nil
	}
	return r.t.err == nil
}

func (r *tracer) access(in *ctest.Instr) bool {
	address, addr := r.eval(in.Addr)
	location, ok := r.test.Pointee(address)
	if !ok {
		says := fmt.Sprintf("%d is dereferenced, which is no variable's address; initialise the pointer, as y=&x",
			address)
		r.t.err = &ctest.Error{File: r.test.File, Line: in.Line, Says: says}
		return false
	}
	a, onA := r.eval(in.Val)
	e := event{kind: read, location: location, addr: addr, plain: in.Plain}
	st := event{kind: write, location: location, addr: addr, plain: in.Plain}
	switch in.Op {
	case ctest.Load:
		e.acquire = in.Order == lkmm.Acquire
		r.load(in, e)
	case ctest.Store, ctest.Unlock:
		st.value, st.data, st.release = a, onA, in.Order == lkmm.Release
		if in.Op == ctest.Unlock {
			st.release, st.unlocks = true, true
		}
		r.add(in, st)
	case ctest.Lock, ctest.TryLock:
		e.value = r.take(location)
		free := r.may(e.value == 0)
		if in.Op == ctest.Lock && !free {
			return false
		}
		e.acquire, e.locks, e.atomic = free, free, free
		d := r.source(in, r.add(in, e))
		if free {
			st.value, st.locks, st.atomic = 1, true, true
			r.paired(in, st)
		}
		if in.Dst >= 0 {
			r.t.locals[in.Dst], r.deps[in.Dst] = truth(free), d
		}
	case ctest.RMW:
		r.change(in, e, st, a, onA)
	}
	return true
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (r *tracer) load(in *ctest.Instr, e event) {
	e.value = r.take(e.location)
	d := r.source(in, r.add(in, e))
	r.t.locals[in.Dst], r.deps[in.Dst] = e.value, d
}

// paired adds the store of the load that was just done.
func (r *tracer) paired(in *ctest.Instr, st event) {
	at := r.add(in, st)
	r.t.events[at-1].pair = at
}

// change is a read-modify-write operation: a fully ordered one that succeeds is between two
// barriers, one that fails is a load.
func (r *tracer) change(in *ctest.Instr, e, st event, a int64, onA sources) {
	b, onB := r.eval(in.Other)
	e.value = r.take(e.location)
	v, ok, result := in.Change.Apply(e.value, a, b)
	if ok != r.may(ok) {
		ok = !ok
		v = in.Change.Forced(e.value, a, b)
	}
	e.noReturn, e.atomic, st.atomic = !in.Change.Returns(), true, true
	full := ok && in.Order == lkmm.Full
	if full {
		r.add(in, event{kind: mb})
	}
	e.acquire = ok && in.Order == lkmm.Acquire
	d := r.source(in, r.add(in, e))
	if ok {
		st.value, st.release, st.data = v, in.Order == lkmm.Release, onA|onB
		if in.Change.Reads() {
			st.data |= d
		}
		r.paired(in, st)
	}
	if full {
		r.add(in, event{kind: mb})
	}
	if in.Dst >= 0 {
		r.t.locals[in.Dst], r.deps[in.Dst] = result, d
	}
}
