package fetch_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/fetch"
)

// An explorer answers questions from a script, and notes how many answers each
// one has: enough to walk the whole tree, depth first.
type explorer struct {
	script []int
	widths []int
	asked  int
}

func (x *explorer) choose(n int) int {
	if x.asked == len(x.script) {
		x.script = append(x.script, 0)
		x.widths = append(x.widths, n)
	}
	x.asked++
	return x.script[x.asked-1]
}

// next moves to the next path; false if that was the last.
func (x *explorer) next() bool {
	x.asked = 0
	for len(x.script) > 0 {
		last := len(x.script) - 1
		if x.script[last]++; x.script[last] < x.widths[last] {
			return true
		}
		x.script, x.widths = x.script[:last], x.widths[:last]
	}
	return false
}

type outcomes struct {
	first string   // with every choice 0
	all   []string // each once, sorted
	paths int
}

// explore runs once on each path, and collects what comes out.
func explore(once func(x *explorer) string) (o outcomes) {
	x := &explorer{}
	for more := true; more; more = x.next() {
		out := once(x)
		if o.paths == 0 {
			o.first = out
		}
		o.paths++
		o.all = append(o.all, out)
	}
	slices.Sort(o.all)
	o.all = slices.Compact(o.all)
	return o
}

// A memory is the machine of the tests: 64 bytes of text, of which the first
// mapped are, int3 unless something was put there.
type memory struct {
	t      testing.TB
	bytes  [64]byte
	mapped int
	asks   int
	length func(b []byte) (n int, ok bool)
	pick   func(n int) int
	buf    [15]byte
}

const memoryAt = 0x1000

func newMemory(t testing.TB, x *explorer, length func(b []byte) (int, bool)) *memory {
	m := &memory{t: t, mapped: 64, length: length}
	if x != nil {
		m.pick = x.choose
	}
	for i := range m.bytes {
		m.bytes[i] = 0xcc
	}
	return m
}

func (m *memory) Newest(addr uint64, b []byte) int {
	if addr < memoryAt || addr >= memoryAt+uint64(m.mapped) {
		return 0
	}
	return copy(b, m.bytes[addr-memoryAt:m.mapped])
}

func (m *memory) Length(_ uint64, b []byte) int {
	if n, ok := m.length(b); ok {
		return n
	}
	return len(b)
}

func (m *memory) Choose(n int) int {
	if n < 2 {
		m.t.Errorf("asked to choose one of %d", n)
	}
	m.asks++
	return m.pick(n)
}

func (m *memory) put(addr uint64, b []byte) { copy(m.bytes[addr-memoryAt:], b) }

func (m *memory) store(text *fetch.Text, addr uint64, b []byte) {
	old := slices.Clone(m.bytes[addr-memoryAt:][:len(b)])
	m.put(addr, b)
	text.Store(addr, old, b)
}

// fetch returns what cpu sees, in hex. It checks what must hold of any fetch.
func (m *memory) fetch(text *fetch.Text, cpu int, addr uint64) string {
	asks := m.asks
	for i := range m.buf {
		m.buf[i] = 0xee
	}
	n := text.Fetch(cpu, addr, &m.buf, m)
	for i, b := range m.buf[n:] {
		require.Zero(m.t, b, "byte %d is beyond the %d of the instruction", n+i, n)
	}
	if n > 0 && !text.MayBeStale(cpu) {
		require.Equal(m.t, asks, m.asks, "asked though nothing can be stale")
		require.Equal(m.t, m.bytes[addr-memoryAt:][:n], m.buf[:n], "not memory though nothing can be stale")
	}
	return fmt.Sprintf("% x", m.buf[:n])
}
