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

// A Var is one shared word. Each Load and Store is a point.
type Var[T comparable] struct {
	id CellID
	v  T
}

// Init gives the cell its number and its value.
func (c *Var[T]) Init(cells *Cells, v T) { c.id, c.v = cells.New(), v }

// ID returns the cell's number.
func (c *Var[T]) ID() CellID { return c.id }

// Load reads the cell (point).
func (c *Var[T]) Load(x Context) T {
	x.Access(c.id, Read)
	return c.v
}

// Store writes the cell (point before the store).
func (c *Var[T]) Store(x Context, v T) {
	x.Access(c.id, Write)
	c.v = v
}

// Swap writes v if the cell holds old, and reports whether it did: an atomic
// compare-and-exchange (point).
func (c *Var[T]) Swap(x Context, old, v T) bool {
	x.Access(c.id, Write)
	if c.v != old {
		return false
	}
	c.v = v
	return true
}

// Look reads the cell without a point, where other CPUs may write it.
func (c *Var[T]) Look(x Context) T {
	x.Touch(c.id, Read)
	return c.v
}

// Peek reads the cell without a point: for conditions, for machine hooks that
// run within another point, and under the lock that its writers hold.
func (c *Var[T]) Peek() T { return c.v }

// Set writes the cell without a point and wakes no waiter: for initialisation,
// and for machine hooks, which tell the machine themselves.
func (c *Var[T]) Set(v T) { c.v = v }

// Add adds d to a counter atomically and returns the sum (point).
func Add(c *Var[int], x Context, d int) int {
	x.Access(c.id, Write)
	c.v += d
	return c.v
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

// A List is a shared list, such as the optimizer's lists or an RCU-protected
// chain. A reader that walks it meets a point at each element. It is meant for
// few elements; of many the first is taken out at no more cost.
type List[T comparable] struct {
	id   CellID
	head int // of a long list: how many elements at the front of v are gone
	v    []T
}

// long is from how many elements on the others don't move up when the first goes.
const long = 64

// Init gives the list its number and empties it.
func (l *List[T]) Init(cells *Cells) { l.id, l.head, l.v = cells.New(), 0, l.v[:0] }

// ID returns the cell's number.
func (l *List[T]) ID() CellID { return l.id }

// Len returns the number of elements (point).
func (l *List[T]) Len(x Context) int {
	x.Access(l.id, Read)
	return len(l.v) - l.head
}

// Peek returns the elements without a point.
func (l *List[T]) Peek() []T { return l.v[l.head:] }

// At returns element i (point).
func (l *List[T]) At(x Context, i int) T {
	x.Access(l.id, Read)
	return l.v[l.head+i]
}

// Has reports whether v is in the list (point).
func (l *List[T]) Has(x Context, v T) bool {
	x.Access(l.id, Read)
	return l.index(v) >= 0
}

// Add appends v (point).
func (l *List[T]) Add(x Context, v T) {
	x.Access(l.id, Write)
	l.v = append(l.v, v)
}

// Fill appends v without a point: for initialisation.
func (l *List[T]) Fill(v T) { l.v = append(l.v, v) }

// Push puts v first (point).
func (l *List[T]) Push(x Context, v T) {
	x.Access(l.id, Write)
	l.v = append(l.v, v)
	live := l.v[l.head:]
	copy(live[1:], live)
	live[0] = v
}

// Del takes v out, and reports whether it was in (point).
func (l *List[T]) Del(x Context, v T) bool {
	x.Access(l.id, Write)
	i := l.index(v)
	if i < 0 {
		return false
	}
	if i += l.head; i == l.head && len(l.v)-i > long {
		var none T
		l.v[i] = none
		l.head++
		return true
	}
	n := copy(l.v, l.v[l.head:i])
	n += copy(l.v[n:], l.v[i+1:])
	l.head, l.v = 0, l.v[:n]
	return true
}

func (l *List[T]) index(v T) int {
	for i, w := range l.v[l.head:] {
		if w == v {
			return i
		}
	}
	return -1
}

// PerCPU is a word of each CPU's own. Other CPUs don't read it, so an access
// is no point.
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
