package lang

import (
	"fmt"
	"iter"
	"math/big"

	"go.starlark.net/starlark"
)

// Starlark counts steps, but one step may take terabytes: "90" * 400000000, or a tuple that
// holds itself twice forty times over, printed. So every step that can cost more than a
// constant is guarded. It is priced first, from the sizes of its operands, and refused if the
// program can't pay. bounds_rewrite.go puts the guards into the program; bounds_operators.go,
// bounds_builtins.go and bounds_methods.go have the prices. A price is a function of the
// values alone. It uses no clock and no measured memory, so it is the same on every computer.
const (
	maxProgram  = 1_000_000 // steps of a program, and what a step on a long value counts for
	maxMemory   = 64 << 20  // bytes of all values that a program makes, whether it keeps them or not
	maxElements = 1 << 20   // of one string, list or range
	maxBits     = 1 << 12   // of an integer
	maxDigits   = maxBits / 4
	maxDepth    = 100 // nesting of values that are compared, printed or used as keys
)

// The constants are the approximate sizes of values, in bytes.
const (
	elementBytes = 16  // in a list or tuple
	pairBytes    = 96  // a tuple of two, in a list
	entryBytes   = 128 // in a dict, including spare room in its table
	dictBytes    = 512
	smallBytes   = 64  // a method, a number, a piece of a string
	verbBytes    = 128 // what a function of the language returns
)

var (
	errSteps = fmt.Errorf("the program takes more than %d steps, of which work on a long value is many; it "+
		"says what is run, so make its loops and values shorter", maxProgram)
	errBytes = fmt.Errorf("the program makes values of more than %d MB; it says what is run, so make them smaller",
		maxMemory>>20)
	errDeep = fmt.Errorf("a value is nested more than %d deep, or holds itself; compare, print or use as a key "+
		"what is flat", maxDepth)
)

// A budget is what a program has left to spend.
type budget struct {
	thread *starlark.Thread
	bytes  int // made so far
}

// spend takes steps and bytes, both at least 0. It returns an error if too few are left.
func (b *budget) spend(steps, bytes int) error {
	if left := maxProgram - int(b.thread.Steps); steps > left {
		return errSteps
	}
	if bytes > maxMemory-b.bytes {
		return errBytes
	}
	b.thread.Steps += uint64(steps)
	b.bytes += bytes
	return nil
}

// work returns the number of steps charged for going over n bytes of a string.
func work(n int) int { return n / 32 }

// A size is the size of a value when it is traversed to its leaves. Shared parts count each
// time.
type size struct{ leaves, bytes int }

// measure adds up the sizes of values. It charges one step per leaf.
func (b *budget) measure(values ...starlark.Value) (size, error) {
	m := meter{most: maxProgram - int(b.thread.Steps)}
	for _, v := range values {
		if err := m.add(v, 0); err != nil {
			return m.size, err
		}
	}
	return m.size, b.spend(m.leaves-len(values)+work(m.bytes), 0) // one leaf each is the step itself
}

// A meter measures, up to a number of leaves.
type meter struct {
	size
	most int
}

func (m *meter) add(v starlark.Value, depth int) error {
	m.leaves++
	switch {
	case m.leaves > m.most || work(m.bytes) > m.most:
		return errSteps
	case depth > maxDepth:
		return errDeep
	}
	switch v := v.(type) {
	case starlark.String:
		m.bytes += len(v)
	case starlark.Bytes:
		m.bytes += len(v)
	case starlark.Int:
		m.bytes += bits(v)/8 + 1
	case starlark.Tuple:
		return m.all(starlark.Elements(v), depth)
	case *starlark.List:
		return m.all(v.Elements(), depth)
	case *starlark.Dict:
		for k, e := range v.Entries() {
			if err := m.add(k, depth+1); err != nil {
				return err
			}
			if err := m.add(e, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *meter) all(elements iter.Seq[starlark.Value], depth int) error {
	for e := range elements {
		if err := m.add(e, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// bits returns the length of an integer in bits.
func bits(i starlark.Int) int {
	if n, ok := i.Int64(); ok {
		return big.NewInt(n).BitLen()
	}
	return i.BigInt().BitLen()
}

// count returns the number of elements of an iterable value, and 0 for other values, which
// Starlark refuses. It charges for the iteration.
func (b *budget) count(v starlark.Value) (n int, err error) {
	if n = max(starlark.Len(v), 0); n > 0 {
		return n, b.spend(n/4, 0)
	}
	it := starlark.Iterate(v)
	if it == nil {
		return 0, nil
	}
	defer it.Done()
	var x starlark.Value
	for ; it.Next(&x); n++ {
		if n == maxElements {
			return n, errSteps
		}
	}
	return n, b.spend(n/4, 0)
}

// key charges for a look-up in a dict of n entries. If all keys have the same hash, the
// look-up goes through all of them.
func (b *budget) key(k starlark.Value, n int) error {
	if err := b.spend(n/16, 0); err != nil {
		return err
	}
	switch k := k.(type) {
	case starlark.Int:
		return nil
	case starlark.String:
		return b.spend(work(len(k)), 0)
	}
	_, err := b.measure(k)
	return err
}
