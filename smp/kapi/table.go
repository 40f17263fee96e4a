package kapi

import (
	"math/bits"
	"slices"

	"kpsim/smp/arch"
)

// A Table is a shared hash table, looked up by address under RCU, of 64 chains as the
// kernel's of probes is (KPROBE_TABLE_SIZE). A new entry becomes the first of its
// chain. An access has the footprint of the whole table.
type Table[V any] struct {
	id     CellID
	golden uint64
	chains [][]node[V]      // the first of each is the last here
	used   uint64           // a bit for each chain that had a node since Init
	w      *weak[[]node[V]] `state:"weak"` // whole tables: the nodes of all chains
}

type node[V any] struct {
	at arch.Addr
	v  V
}

const chainBits = 6

// Init gives the table its number and empties it. Its hash is the upper bits of the
// address times golden (hash_64 of include/linux/hash.h).
func (t *Table[V]) Init(cells *Cells, golden uint64) {
	t.id, t.golden = cells.New(), golden
	if t.chains == nil {
		t.chains = make([][]node[V], 1<<chainBits)
	}
	t.empty()
	t.Drop()
}

func (t *Table[V]) empty() {
	for ; t.used != 0; t.used &= t.used - 1 {
		c := &t.chains[bits.TrailingZeros64(t.used)]
		*c = (*c)[:0]
	}
}

// TablePublish is the order in which an entry is made and published.
var TablePublish = DefineBarrier("table: publish an entry", OrderRelease, "hlist_add_head_rcu: rcu_assign_pointer")

// ID returns the cell's number.
func (t *Table[V]) ID() CellID { return t.id }

// Get looks at one node after the other of an address's chain, to the end if it isn't
// there (point).
func (t *Table[V]) Get(x Context, at arch.Addr) (v V, ok bool) {
	return t.get(x, x.Access(t.id, Read), at)
}

// Look is Get without a point: within the step under way.
func (t *Table[V]) Look(x Context, at arch.Addr) (v V, ok bool) {
	return t.get(x, x.Touch(t.id, Read), at)
}

func (t *Table[V]) get(x Context, m Model, at arch.Addr) (v V, ok bool) {
	c, i := t.find(at)
	if m != nil {
		if held, back := m.Load(t, Through); held >= 0 {
			return last(t.w.own(held), at)
		} else if back > 0 {
			return last(t.w.old[len(t.w.old)-back], at)
		}
	}
	x.Work(WorkNode, len(*c)-max(i, 0))
	if i < 0 {
		return v, false
	}
	return (*c)[i].v, true
}

// last returns what the last node of an address has.
func last[V any](all []node[V], at arch.Addr) (v V, ok bool) {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].at == at {
			return all[i].v, true
		}
	}
	return v, false
}

// Chain appends the values of chain n, of 64, as a reader that begins to walk it finds them (point, unless it is
// empty). A kernel's reader may also miss one that is taken out before the reader comes to it.
func (t *Table[V]) Chain(x Context, n int, to []V) []V {
	x.Mark(t.id, Read)
	if len(t.chains[n]) == 0 {
		return to
	}
	m := x.Access(t.id, Read)
	nodes := t.chains[n]
	if m != nil {
		if held, back := m.Load(t, Through); held >= 0 {
			nodes = t.w.own(held)
		} else if back > 0 {
			nodes = t.w.old[len(t.w.old)-back]
		}
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		if t.hash(nodes[i].at) == uint64(n) {
			to = append(to, nodes[i].v)
		}
	}
	return to
}

// Chains is the number of chains of a Table.
const Chains = 1 << chainBits

// Peek looks an address up without a point, under the lock that its writers hold.
func (t *Table[V]) Peek(at arch.Addr) (v V, ok bool) {
	if t.used>>t.hash(at)&1 == 0 { // mostly, where each byte of a function is looked up
		return v, false
	}
	c, i := t.find(at)
	if i < 0 {
		return v, false
	}
	return (*c)[i].v, true
}

// Put gives an address its value (point).
func (t *Table[V]) Put(x Context, at arch.Addr, v V) {
	m := x.Access(t.id, Write)
	if m != nil {
		now, held := t.copied(m, TablePublish)
		now = append(slices.DeleteFunc(now, func(n node[V]) bool { return n.at == at }), node[V]{at, v})
		t.change(m, held, now)
		return
	}
	t.put(at, v)
}

func (t *Table[V]) put(at arch.Addr, v V) {
	c, i := t.find(at)
	if i < 0 {
		*c = append(*c, node[V]{at, v})
		t.used |= 1 << t.hash(at)
	} else {
		(*c)[i].v = v
	}
}

// Del takes an address out (point).
func (t *Table[V]) Del(x Context, at arch.Addr) {
	m := x.Access(t.id, Write)
	if m != nil {
		now, held := t.copied(m, Once)
		t.change(m, held, slices.DeleteFunc(now, func(n node[V]) bool { return n.at == at }))
		return
	}
	if c, i := t.find(at); i >= 0 {
		*c = append((*c)[:i], (*c)[i+1:]...)
	}
}

// all returns the nodes of all chains.
func (t *Table[V]) all() (all []node[V]) {
	for _, c := range t.chains {
		all = append(all, c...)
	}
	return all
}

// copied returns a copy of the table's nodes, for a change where memory is weak, and which CPU
// holds the result.
func (t *Table[V]) copied(m Model, b Barrier) (all []node[V], held int) {
	from, held := m.Update(t, b)
	if from >= 0 {
		return slices.Clone(t.w.own(from)), held
	}
	return t.all(), held
}

// change makes the nodes those of the table.
func (t *Table[V]) change(m Model, held int, all []node[V]) {
	if t.w == nil {
		t.w = new(weak[[]node[V]])
	}
	if held >= 0 {
		t.w.hold(held, all)
		return
	}
	if m.Keeps() {
		t.w = t.w.push(t.all())
	}
	t.fill(all)
}

func (t *Table[V]) fill(all []node[V]) {
	t.empty()
	for _, n := range all {
		t.put(n.at, n.v)
	}
}

// Commit implements Cell.
func (t *Table[V]) Commit(cpu int) {
	if all, ok := t.w.commit(cpu); ok {
		t.fill(all)
	}
}

// Forget implements Cell.
func (t *Table[V]) Forget(n int) { t.w.forget(n) }

// Drop implements Cell.
func (t *Table[V]) Drop() { t.w.drop() }

// Len returns the number of entries, without a point.
func (t *Table[V]) Len() (n int) {
	for _, c := range t.chains {
		n += len(c)
	}
	return n
}

// hash returns the number of an address's chain.
func (t *Table[V]) hash(at arch.Addr) uint64 { return uint64(at) * t.golden >> (64 - chainBits) }

// find returns an address's chain and where in it the address is, -1 if it isn't.
func (t *Table[V]) find(at arch.Addr) (c *[]node[V], i int) {
	c = &t.chains[t.hash(at)]
	for i = len(*c) - 1; i >= 0 && (*c)[i].at != at; i-- {
	}
	return c, i
}
