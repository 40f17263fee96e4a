package kapi

// Cells hands out the numbers of cells. Number 0 is no cell. A machine has one;
// it is reset with the run, so that the same program numbers its cells alike.
type Cells struct{ n CellID }

// New returns the next number.
func (c *Cells) New() CellID { c.n++; return c.n }

// Count returns how many numbers have been handed out.
func (c *Cells) Count() int { return int(c.n) }

// Rewind forgets the numbers handed out after the first n.
func (c *Cells) Rewind(n int) { c.n = CellID(n) }

// A Var is one shared word. A routine accesses it by the verb that the kernel's C code has at
// that place. The order that a verb promises matters only where memory is weak (Model).
// Elsewhere each verb reads or writes the current value.
type Var[T comparable] struct {
	id CellID
	v  T        // the newest value that has taken effect
	w  *weak[T] `state:"weak"`
}

// Init gives the cell its number and its value.
func (c *Var[T]) Init(cells *Cells, v T) {
	c.id, c.v = cells.New(), v
	c.w.drop()
}

// ID returns the cell's number.
func (c *Var[T]) ID() CellID { return c.id }

// ReadOnce reads the cell (READ_ONCE, atomic_read) (point).
func (c *Var[T]) ReadOnce(x Context) T { return c.load(x.Access(c.id, Read), Once) }

// LoadAcquire reads the cell, before all accesses that follow (smp_load_acquire) (point).
func (c *Var[T]) LoadAcquire(x Context, b Barrier) T { return c.load(x.Access(c.id, Read), b) }

// Deref reads a pointer, before all that is read through it (rcu_dereference) (point).
func (c *Var[T]) Deref(x Context) T { return c.load(x.Access(c.id, Read), Through) }

// LookAcquire is LoadAcquire without a point: within the step under way.
func (c *Var[T]) LookAcquire(x Context, b Barrier) T { return c.load(x.Touch(c.id, Read), b) }

// Look is ReadOnce without a point: within the step under way.
func (c *Var[T]) Look(x Context) T { return c.load(x.Touch(c.id, Read), Once) }

// load, store and locked are small enough to be inlined: where memory isn't weak a verb
// is its access and one branch.
func (c *Var[T]) load(m Model, b Barrier) T {
	if m != nil {
		return c.loadWeak(m, b)
	}
	return c.v
}

func (c *Var[T]) loadWeak(m Model, b Barrier) T {
	held, back := m.Load(c, b)
	if held >= 0 {
		return c.w.own(held)
	}
	if back > 0 {
		return c.w.old[len(c.w.old)-back]
	}
	return c.v
}

// WriteOnce writes the cell (WRITE_ONCE, atomic_set) (point before the store).
func (c *Var[T]) WriteOnce(x Context, v T) { c.store(x.Access(c.id, Write), Once, v) }

// ReadNewest reads the newest value, where something that isn't memory orders the accesses: a trap that comes of what
// was done after the store, other CPUs being held (point).
func (c *Var[T]) ReadNewest(x Context) T {
	x.Access(c.id, Read)
	return c.v
}

// LookNewest is ReadNewest without a point: within the step under way.
func (c *Var[T]) LookNewest(x Context) T {
	x.Touch(c.id, Read)
	return c.v
}

// StoreRelease writes the cell, after all accesses before (smp_store_release,
// rcu_assign_pointer) (point before the store).
func (c *Var[T]) StoreRelease(x Context, b Barrier, v T) { c.store(x.Access(c.id, Write), b, v) }

// StoreMB writes the cell, before all accesses that follow (smp_store_mb) (point before
// the store).
func (c *Var[T]) StoreMB(x Context, b Barrier, v T) {
	c.store(x.Access(c.id, Write), Once, v)
	x.Fence(b)
}

// Put is WriteOnce without a point: within the step under way.
func (c *Var[T]) Put(x Context, v T) { c.store(x.Touch(c.id, Write), Once, v) }

func (c *Var[T]) store(m Model, b Barrier, v T) {
	if m != nil {
		c.storeWeak(m, b, v)
		return
	}
	c.v = v
}

func (c *Var[T]) storeWeak(m Model, b Barrier, v T) {
	if c.w == nil {
		c.w = new(weak[T])
	}
	held, back := m.Store(c, b)
	switch {
	case held >= 0:
		c.w.hold(held, v)
	case back > 0:
		c.w.insert(back, v)
	default:
		c.keep(m)
		c.v = v
	}
}

// Swap writes v if the cell holds old, and reports whether it did: an atomic
// compare-and-exchange, which orders nothing if it fails (point).
func (c *Var[T]) Swap(x Context, b Barrier, old, v T) bool {
	if m := x.Access(c.id, Write); m != nil {
		return c.swapWeak(m, b, old, v)
	}
	if c.v != old {
		return false
	}
	c.v = v
	return true
}

func (c *Var[T]) swapWeak(m Model, b Barrier, old, v T) bool {
	now := c.v
	if c.w != nil && len(c.w.held) > 0 {
		if held, _ := m.Load(c, b); held >= 0 { // the held store takes effect first
			now = c.w.own(held)
		}
	}
	if !m.Locked(c, b, now != old) {
		return false
	}
	c.keep(m)
	c.v = v
	return true
}

// RMW returns a pointer to the value, for an atomic read-modify-write. The caller must change
// the value before it does anything else (point).
func (c *Var[T]) RMW(x Context, b Barrier) *T { return c.locked(x.Access(c.id, Write), b) }

// Change is RMW without a point: within the step under way.
func (c *Var[T]) Change(x Context, b Barrier) *T { return c.locked(x.Touch(c.id, Write), b) }

func (c *Var[T]) locked(m Model, b Barrier) *T {
	if m != nil {
		c.lockedWeak(m, b)
	}
	return &c.v
}

func (c *Var[T]) lockedWeak(m Model, b Barrier) {
	m.Locked(c, b, false)
	c.keep(m)
}

// Peek returns the newest value that has taken effect, whether or not a given CPU sees it yet.
// It is for conditions, monitors and reports. Routines use Look.
func (c *Var[T]) Peek() T { return c.v }

// Set gives the cell a value, to each CPU, and wakes no waiter: for initialisation.
func (c *Var[T]) Set(v T) {
	c.v = v
	c.w.all(v)
}

// Overwrite gives the cell another value at once, and wakes no waiter. The machine uses it
// within a step, also during a run. Stores that CPUs hold still take effect afterwards.
func (c *Var[T]) Overwrite(v T) { c.v = v }

// Commit implements Cell.
func (c *Var[T]) Commit(cpu int) {
	if v, ok := c.w.commit(cpu); ok {
		c.v = v
	}
}

// Forget implements Cell.
func (c *Var[T]) Forget(n int) { c.w.forget(n) }

// Drop implements Cell.
func (c *Var[T]) Drop() {
	c.w.drop()
}

// keep saves the newest value, which is about to be replaced, for CPUs that may still read it.
func (c *Var[T]) keep(m Model) {
	if m.Keeps() {
		c.w = c.w.push(c.v)
	}
}

// Add adds d to a counter atomically and returns the sum (point).
func Add(c *Var[int], x Context, b Barrier, d int) int {
	v := c.RMW(x, b)
	*v += d
	return *v
}

// Is is the condition that a Var holds a value. Keep it where it doesn't
// escape to the heap on each wait: in the struct that owns the Var.
type Is[T comparable] struct {
	Var  *Var[T]
	Want T
}

// Cell implements Cond.
func (w *Is[T]) Cell() CellID { return w.Var.id }

// Holds implements Cond.
func (w *Is[T]) Holds() bool { return w.Var.v == w.Want }

// PerCPU is one private word for each CPU. Other CPUs don't read it, so an access is no point.
type PerCPU[T any] struct{ v []T }

// Init makes a zero word for each of the CPUs.
func (p *PerCPU[T]) Init(cpus int) {
	if len(p.v) != cpus {
		p.v = make([]T, cpus)
	}
	clear(p.v)
}

// This returns the word of the CPU the context runs on. The context must not
// be preemptible while it holds it.
func (p *PerCPU[T]) This(x Context) *T { return &p.v[x.CPU()] }

// Of returns the word of a CPU, for conditions and resets.
func (p *PerCPU[T]) Of(cpu int) *T { return &p.v[cpu] }
