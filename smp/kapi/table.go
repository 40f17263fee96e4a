package kapi

import "kpsim/smp/arch"

// A Table is a shared hash table, looked up by address under RCU, of 64 chains as the
// kernel's of probes is (KPROBE_TABLE_SIZE). A new entry becomes the first of its
// chain. An access has the footprint of the whole table.
type Table[V any] struct {
	id     CellID
	golden uint64
	chains [][]node[V] // the first of each is the last here
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
	for i := range t.chains {
		t.chains[i] = t.chains[i][:0]
	}
}

// ID returns the cell's number.
func (t *Table[V]) ID() CellID { return t.id }

// Get looks at one node after the other of an address's chain, to the end if it isn't
// there (point).
func (t *Table[V]) Get(x Context, at arch.Addr) (v V, ok bool) {
	x.Access(t.id, Read)
	c, i := t.find(at)
	x.Work(WorkNode, len(*c)-max(i, 0))
	if i < 0 {
		return v, false
	}
	return (*c)[i].v, true
}

// Peek looks an address up without a point, under the lock that its writers hold.
func (t *Table[V]) Peek(at arch.Addr) (v V, ok bool) {
	c, i := t.find(at)
	if i < 0 {
		return v, false
	}
	return (*c)[i].v, true
}

// Put inserts or replaces (point).
func (t *Table[V]) Put(x Context, at arch.Addr, v V) {
	x.Access(t.id, Write)
	c, i := t.find(at)
	if i < 0 {
		*c = append(*c, node[V]{at, v})
	} else {
		(*c)[i].v = v
	}
}

// Del deletes (point).
func (t *Table[V]) Del(x Context, at arch.Addr) {
	x.Access(t.id, Write)
	if c, i := t.find(at); i >= 0 {
		*c = append((*c)[:i], (*c)[i+1:]...)
	}
}

// Len returns the number of entries, without a point.
func (t *Table[V]) Len() (n int) {
	for _, c := range t.chains {
		n += len(c)
	}
	return n
}

// find returns an address's chain and where in it the address is, -1 if it isn't.
func (t *Table[V]) find(at arch.Addr) (c *[]node[V], i int) {
	c = &t.chains[uint64(at)*t.golden>>(64-chainBits)]
	for i = len(*c) - 1; i >= 0 && (*c)[i].at != at; i-- {
	}
	return c, i
}
