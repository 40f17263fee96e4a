package kapi

import "fmt"

// An Order is the order that a verb promises in other CPUs' view (Linux,
// Documentation/memory-barriers.txt; tools/memory-model).
type Order uint8

// The orders. Of an access, and MB, RMB and WMB, which are of a fence.
const (
	OrderNone    Order = iota // READ_ONCE, WRITE_ONCE, a relaxed atomic
	OrderThrough              // before what is read through the pointer that was read
	OrderAcquire              // before all that follows
	OrderRelease              // after all that came before
	OrderFull                 // of a read-modify-write: both, for all
	OrderMB                   // smp_mb
	OrderRMB                  // smp_rmb
	OrderWMB                  // smp_wmb
)

var orderNames = [...]string{"none", "through a pointer", "acquire", "release", "full", "mb", "rmb", "wmb"}

func (o Order) String() string { return orderNames[o] }

// A Barrier is an order at one place of the kernel or of an engine. A mutant drops one.
type Barrier uint16

// A Place is what is known of a Barrier.
type Place struct {
	Name   string // what it keeps in order, as "text_poke: publish the vector"
	Order  Order
	Source string // where the kernel has it: its function and verb
}

const interpreted = "a program's that a routine interprets"

var places = []Place{
	{Name: "once"}, {"through", OrderThrough, "rcu_dereference"},
	{"acquire", OrderAcquire, interpreted}, {"release", OrderRelease, interpreted}, {"full", OrderFull, interpreted},
	{"mb", OrderMB, interpreted}, {"rmb", OrderRMB, interpreted}, {"wmb", OrderWMB, interpreted},
}

// The barriers that don't belong to one place of the kernel or of an engine. The plain ones
// are for programs that a routine interprets; no mutant drops them.
const (
	Once    Barrier = iota // no order
	Through                // of rcu_dereference
	PlainAcquire
	PlainRelease
	PlainFull
	PlainMB
	PlainRMB
	PlainWMB
	FirstPlace // the barriers from here on are each of a place
)

// DefineBarrier gives a place that keeps an order its number. It is for the
// initialisation of packages; names are unique.
func DefineBarrier(name string, o Order, source string) Barrier {
	for i := range places {
		if places[i].Name == name {
			panic(fmt.Sprintf("kapi: there are two barriers %q", name))
		}
	}
	places = append(places, Place{name, o, source})
	return Barrier(len(places) - 1)
}

// Places returns all barriers; a Barrier is an index.
func Places() []Place { return places }

// Place returns what is known of the barrier.
func (b Barrier) Place() *Place { return &places[b] }

// Order returns the order that the barrier keeps.
func (b Barrier) Order() Order { return places[b].Order }

// A Cell is a cell as a Model sees it. The cell keeps the values: those that CPUs hold and
// haven't made visible, and those that newer ones have replaced. A Model decides which of
// them an access meets.
type Cell interface {
	ID() CellID
	Commit(cpu int) // the oldest value that a CPU holds becomes the newest
	Forget(n int)   // the n oldest of those that were replaced can't be read any more
	Drop()          // forget all replaced and held values: a run begins
}

// A Model is memory that isn't sequentially consistent, as the CPU of a context sees it.
// A context returns it with an access; nil: memory is what it was stored last.
type Model interface {
	// Load says what a load reads: held >= 0, the newest value that the CPU of that
	// number holds, its own; else the value that is back stores older than the newest.
	Load(c Cell, b Barrier) (held, back int)

	// Store says where a store goes: held >= 0, the CPU of that number holds it, its own;
	// else it is at once older than the newest by back stores, 0: it is the newest.
	Store(c Cell, b Barrier) (held, back int)

	// Update is Store of a value that was made from the newest one, under a lock. from >=
	// 0: from that which the CPU holds.
	Update(c Cell, b Barrier) (from, held int)

	// Locked is an atomic read-modify-write of the newest value, which the CPU doesn't
	// hold any more. fails: it has read, and doesn't write. It returns !fails.
	Locked(c Cell, b Barrier, fails bool) bool

	// Keeps reports whether what the newest value replaces may still be read.
	Keeps() bool
}

// A weak holds a cell's values beside its newest one.
type weak[T any] struct {
	old  []T          // what the newest has replaced, oldest first
	held []holding[T] // by CPU, and of each the oldest first
}

type holding[T any] struct {
	cpu int
	v   T
}

// own returns the newest value that a CPU holds.
func (w *weak[T]) own(cpu int) T {
	for i := len(w.held) - 1; ; i-- {
		if w.held[i].cpu == cpu {
			return w.held[i].v
		}
	}
}

func (w *weak[T]) hold(cpu int, v T) {
	i := len(w.held)
	w.held = append(w.held, holding[T]{})
	for ; i > 0 && w.held[i-1].cpu > cpu; i-- {
		w.held[i] = w.held[i-1]
	}
	w.held[i] = holding[T]{cpu, v}
}

// commit takes out the oldest value that a CPU holds. There is none if the cell was made
// anew since.
func (w *weak[T]) commit(cpu int) (v T, ok bool) {
	for i := range w.held {
		if w.held[i].cpu == cpu {
			v = w.held[i].v
			w.held = append(w.held[:i], w.held[i+1:]...)
			return v, true
		}
	}
	return v, false
}

// all makes all values one.
func (w *weak[T]) all(v T) {
	if w == nil {
		return
	}
	for i := range w.old {
		w.old[i] = v
	}
	for i := range w.held {
		w.held[i].v = v
	}
}

// insert puts a value before the back newest ones, which have been stored already.
func (w *weak[T]) insert(back int, v T) {
	at := len(w.old) - back + 1
	w.old = append(w.old, v)
	copy(w.old[at+1:], w.old[at:])
	w.old[at] = v
}

func (w *weak[T]) forget(n int) { w.old = append(w.old[:0], w.old[min(n, len(w.old)):]...) }

func (w *weak[T]) drop() {
	if w != nil {
		w.old, w.held = w.old[:0], w.held[:0]
	}
}

// push makes room for what is beside the newest value, of cells that had none.
func (w *weak[T]) push(old T) *weak[T] {
	if w == nil {
		w = new(weak[T])
	}
	w.old = append(w.old, old)
	return w
}
