package axioms

import (
	"fmt"
	"math/bits"

	"kpsim/internal/litmus/ctest"
)

// orders knows in which orders the stores to each location may be.
type orders struct {
	loads   []int    // of the execution
	stores  [][]int  // of each location
	glued   []int    // of each store: the one that it must follow at once, -1: the initial value, -2: none
	least   []uint64 // of each store: those, by number, that come before it in any case
	several bool     // there is more than one order
	last    []int64  // of each location: its value at the end
}

// begin sorts the accesses of an execution. A location has at most 64 stores.
func (o *orders) begin(t *ctest.Test, x *execution) error {
	o.loads = o.loads[:0]
	for len(o.stores) < len(t.Locations) {
		o.stores = append(o.stores, nil)
	}
	for i := range o.stores {
		o.stores[i] = o.stores[i][:0]
	}
	for i := range x.events {
		switch e := &x.events[i]; e.kind {
		case read:
			o.loads = append(o.loads, i)
		case write:
			x.number[i] = len(o.stores[e.location])
			o.stores[e.location] = append(o.stores[e.location], i)
			if x.number[i] == 64 {
				return fmt.Errorf("%s: %s has more than 64 stores; make the test smaller", t.File,
					t.Locations[e.location].Name)
			}
		}
	}
	return nil
}

// paired reports whether a read-modify-write operation among the first loads has changed what
// another one wants to change.
func (o *orders) paired(x *execution, loads, store int) bool {
	at := x.events[o.loads[loads]].location
	for _, k := range o.loads[:loads] {
		if e := &x.events[k]; e.pair > 0 && e.location == at && x.reads[k] == store {
			return true
		}
	}
	return false
}

// constrain finds which stores come before which in any case, since each location is coherent and
// nothing comes between the load and the store of an operation. It returns false if there is no
// such order.
func (o *orders) constrain(x *execution) bool {
	o.glued, o.least = resize(o.glued, x.n), resize(o.least, x.n)
	for i := range x.events {
		o.least[i], o.glued[i] = 0, -2
	}
	first := 0
	for i := range x.events {
		a := &x.events[i]
		if i > 0 && a.thread != x.events[i-1].thread {
			first = i
		}
		if !a.memory() {
			continue
		}
		v := i // the store that a stands for
		if a.kind == read {
			v = x.reads[i]
		}
		for k := i + 1; k < x.n && x.events[k].thread == a.thread; k++ {
			b := &x.events[k]
			if !b.memory() || b.location != a.location {
				continue
			}
			w := k
			if b.kind == read {
				w = x.reads[k]
			}
			if v == w || v < 0 {
				continue
			}
			if w < 0 {
				return false
			}
			o.least[w] |= 1 << x.number[v]
		}
		if a.pair > 0 {
			o.glued[first+a.pair] = v
		}
	}
	return o.close(x)
}

// close extends least to all that follows from it, and makes it the order until another is chosen.
func (o *orders) close(x *execution) bool {
	for grew := true; grew; {
		grew = false
		for _, list := range o.stores {
			for _, w := range list {
				was := o.least[w]
				for k, v := range list {
					if was>>k&1 != 0 {
						o.least[w] |= o.least[v]
					}
					if g := o.glued[v]; v != w && (g == -1 || g >= 0 && o.least[w]>>x.number[g]&1 != 0) {
						o.least[w] |= 1 << k // it can't be between the two
					}
				}
				if g := o.glued[w]; g >= 0 {
					o.least[w] |= o.least[g] | 1<<x.number[g]
				}
				grew = grew || o.least[w] != was
				if o.least[w]>>x.number[w]&1 != 0 {
					return false
				}
			}
		}
	}
	o.several = false
	for _, list := range o.stores {
		sum := 0
		for _, w := range list {
			x.ahead[w] = o.least[w]
			sum += bits.OnesCount64(o.least[w])
		}
		o.several = o.several || sum < len(list)*(len(list)-1)/2
	}
	return true
}

// full reports whether all stores of a location are placed.
func (o *orders) full(location int, placed uint64) bool {
	return bits.OnesCount64(placed) == len(o.stores[location])
}

// next reports whether store k of a location may come after those that are placed, last the last.
func (o *orders) next(location int, placed uint64, last, k int) bool {
	w := o.stores[location][k]
	if placed>>k&1 != 0 || o.least[w]&^placed != 0 || o.glued[w] != -2 && o.glued[w] != last {
		return false
	}
	for i, v := range o.stores[location] { // what must follow last at once
		if i != k && placed>>i&1 == 0 && o.glued[v] == last {
			return false
		}
	}
	return true
}

// before lists the values of a location before a store.
func (o *orders) before(t *ctest.Test, x *execution, store int) []int64 {
	at := x.events[store].location
	list := make([]int64, 1+bits.OnesCount64(x.ahead[store]))
	list[0] = t.Locations[at].Value
	for k, w := range o.stores[at] {
		if x.ahead[store]>>k&1 != 0 {
			list[1+bits.OnesCount64(x.ahead[w])] = x.events[w].value
		}
	}
	return list
}
