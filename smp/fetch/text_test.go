package fetch_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
	"kpsim/smp/fetch"
)

func TestParse(t *testing.T) {
	for _, m := range models {
		got, err := fetch.Parse(m.String())
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
	_, err := fetch.Parse("stael")
	require.EqualError(t, err, `no fetch model is called "stael"; there are coherent, stale, mixing`)
	require.Equal(t, "Model(9)", fetch.Model(9).String())
}

// oldest answers every question with the oldest alternative.
func oldest(n int) int { return n - 1 }

func TestOneCompareSaysWhenThereIsNoChoice(t *testing.T) {
	for _, model := range models {
		text := newText(model, 2)
		weak := model != fetch.Coherent
		m := newMemory(t, nil, x86Length)
		require.False(t, text.MayBeStale(0), "nothing was stored")

		m.store(text, memoryAt, []byte{0xcc})
		require.False(t, text.MayBeStale(0), "nothing was changed")

		m.store(text, memoryAt, []byte{0x90})
		require.Equal(t, weak, text.MayBeStale(0))
		require.Equal(t, weak, text.MayBeStale(1))

		text.Serialise(1)
		require.Equal(t, weak, text.MayBeStale(0))
		require.False(t, text.MayBeStale(1))

		text.Reset()
		require.False(t, text.MayBeStale(0))
	}
}

// Every CPU of a full machine has its own floors: those whose number is odd
// serialise between the stores, and each sees the oldest that it may.
func TestSixtyFourCPUs(t *testing.T) {
	for _, model := range []fetch.Model{fetch.Stale, fetch.Mixing} {
		text := newText(model, 64)
		m := newMemory(t, nil, x86Length)
		m.pick = oldest
		m.put(memoryAt, []byte{0x55, 0x90})

		m.store(text, memoryAt, []byte{0xcc})
		for cpu := 1; cpu < 64; cpu += 2 {
			text.Serialise(cpu)
		}
		m.store(text, memoryAt, []byte{0xc3})

		for cpu := range 64 {
			require.Equal(t, []string{"55", "cc"}[cpu%2], m.fetch(text, cpu, memoryAt), "cpu %d", cpu)
		}
		m.pick = func(int) int { return 0 }
		for cpu := range 32 {
			require.Equal(t, "c3", m.fetch(text, cpu, memoryAt))
		}
		m.pick = oldest
		for cpu := range 64 {
			want := []string{"55", "cc"}[cpu%2]
			if cpu < 32 {
				want = "c3"
			}
			require.Equal(t, want, m.fetch(text, cpu, memoryAt), "cpu %d", cpu)
		}
	}
}

// A CPU isn't asked about what its instruction doesn't use: neither about bytes
// after it, nor about other text.
func TestOnlyWhatIsUsedIsChosen(t *testing.T) {
	text := newText(fetch.Mixing, 1)
	m := newMemory(t, nil, x86Length)
	m.pick = oldest
	m.put(memoryAt, unhex(t, "55 eb 10 c3"))
	m.store(text, memoryAt+2, []byte{0x20})
	m.store(text, memoryAt+32, []byte{0x90})

	require.Equal(t, "55", m.fetch(text, 0, memoryAt))
	require.Equal(t, 0, m.asks)
	require.Equal(t, "eb 10", m.fetch(text, 0, memoryAt+1))
	require.Equal(t, 1, m.asks)
	require.Equal(t, "c3", m.fetch(text, 0, memoryAt+3))
	require.Equal(t, 1, m.asks)
}

// Where text ends, an instruction is cut off there, and stale bytes don't
// reach further than fresh ones.
func TestUnmapped(t *testing.T) {
	for _, model := range models {
		text := newText(model, 1)
		m := newMemory(t, nil, x86Length)
		m.pick = oldest
		m.put(memoryAt, unhex(t, "e9 00 00 00 00"))
		m.store(text, memoryAt+1, []byte{1, 2, 3, 4})
		m.mapped = 3

		want := "e9 00 00"
		if model == fetch.Coherent {
			want = "e9 01 02"
		}
		require.Equal(t, want, m.fetch(text, 0, memoryAt))
		require.Equal(t, "", m.fetch(text, 0, memoryAt+3))
		require.Equal(t, "", m.fetch(text, 0, 0xffff_ffff_ffff_fff8))
	}
}

// What is undecodable has all bytes there are, so all of them are chosen.
func TestUndecodable(t *testing.T) {
	text := newText(fetch.Mixing, 1)
	m := newMemory(t, nil, x86Length)
	m.pick = oldest
	m.put(memoryAt, []byte{0x06})
	m.store(text, memoryAt+14, []byte{0x90})
	m.store(text, memoryAt+15, []byte{0x90})
	require.Equal(t, "06 cc cc cc cc cc cc cc cc cc cc cc cc cc cc", m.fetch(text, 0, memoryAt))
	require.Equal(t, 1, m.asks)
}

// A byte that is stored to for the first time was the same in all versions
// that its chunk had before.
func TestAByteFirstStoredToLater(t *testing.T) {
	var seen []string
	for pick := range 5 {
		text := newText(fetch.Stale, 1)
		m := newMemory(t, nil, x86Length)
		m.put(memoryAt, unhex(t, "eb 10"))
		for _, b := range []byte{0x90, 0x55, 0xeb} {
			m.store(text, memoryAt, []byte{b})
		}
		m.store(text, memoryAt+1, []byte{0x20})

		m.pick = func(n int) int {
			require.Equal(t, 5, n)
			return pick
		}
		seen = append(seen, m.fetch(text, 0, memoryAt))
	}
	require.Equal(t, []string{"eb 20", "eb 10", "55", "90", "eb 10"}, seen)
}

// Enough chunks that the table must grow, at addresses that are as alike as
// those of a kernel, twice over: a used Text does what a new one does.
func TestManyChunksAndReset(t *testing.T) {
	text := newText(fetch.Stale, 2)
	for round := range 3 {
		for i := range 1000 {
			addr := 0xffff_ffff_8100_0000 + uint64(i)*0x1000 + uint64(i%8)
			text.Store(addr, []byte{byte(i)}, []byte{byte(i + 1)})
		}
		for i := range 1000 {
			addr := 0xffff_ffff_8100_0000 + uint64(i)*0x1000 + uint64(i%8)
			m := &oneByte{now: byte(i + 1), pick: 1}
			require.Equal(t, 1, text.Fetch(0, addr, &m.buf, m))
			require.Equal(t, byte(i), m.buf[0], "round %d, chunk %d", round, i)
			require.Equal(t, 1, m.asks)
			require.Equal(t, 1, text.Fetch(1, addr+0x10, &m.buf, m))
			require.Equal(t, byte(i+1), m.buf[0])
			require.Equal(t, 1, m.asks)
		}
		text.Reset()
	}
}

// oneByte is text that holds one value everywhere, in instructions of one byte.
type oneByte struct {
	now        byte
	pick, asks int
	buf        [15]byte
}

func (m *oneByte) Newest(_ uint64, b []byte) int {
	for i := range b {
		b[i] = m.now
	}
	return len(b)
}
func (m *oneByte) Length(uint64, []byte) int { return 1 }
func (m *oneByte) Choose(int) int            { m.asks++; return m.pick }

func TestBugs(t *testing.T) {
	bug := func(t *testing.T, says string, f func()) {
		defer func() {
			b, ok := recover().(*sim.BugError)
			require.True(t, ok, "no bug")
			require.Contains(t, b.Message, says)
		}()
		f()
	}
	text := newText(fetch.Stale, 1)
	text.Store(memoryAt+2, []byte{1}, []byte{2})
	m := newMemory(t, nil, func([]byte) (int, bool) { return 20, true })

	bug(t, "the one before left", func() { text.Store(memoryAt+2, []byte{1}, []byte{3}) })
	bug(t, "2 bytes over 1", func() { text.Store(memoryAt, []byte{1}, []byte{2, 3}) })
	bug(t, "20 bytes", func() { text.Fetch(0, memoryAt, &m.buf, m) })
	bug(t, "alternative 2 of 2", func() { m := &oneByte{pick: 2}; text.Fetch(0, memoryAt+2, &m.buf, m) })
	bug(t, "65 CPUs", func() { newText(fetch.Stale, 65) })
	bug(t, "Model(7)", func() { newText(7, 1) })
}

// aRun is what a run does here: it forgets the last one, patches, fetches.
func aRun(text *fetch.Text, m *memory, sites int) {
	text.Reset()
	for i := range sites {
		site := memoryAt + uint64(i)*10
		text.Store(site, int3, nop5[:1])
		text.Store(site, nop5[:1], int3)
		text.Store(site+1, nop5[1:], jump[1:])
		for cpu := range 4 {
			text.Fetch(cpu, site, &m.buf, m)
		}
		text.Serialise(i % 4)
	}
}

var (
	int3 = []byte{0xcc}
	nop5 = []byte{0x0f, 0x1f, 0x44, 0x00, 0x00}
	jump = []byte{0xe9, 0x11, 0x22, 0x33, 0x44}
)

func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, model := range models {
		text := newText(model, 4)
		m := newMemory(t, nil, x86Length)
		m.pick = oldest
		aRun(text, m, 5)
		require.Zero(t, testing.AllocsPerRun(100, func() { aRun(text, m, 5) }), model)
	}
}

// benched is text that holds a jump everywhere.
type benched struct{ buf [15]byte }

func (m *benched) Newest(_ uint64, b []byte) int { copy(b, jump); return len(b) }
func (m *benched) Length(_ uint64, b []byte) int {
	if b[0] == 0xe9 {
		return 5
	}
	return 1
}
func (m *benched) Choose(n int) int { return n - 1 }

func BenchmarkMayBeStale(b *testing.B) {
	text := newText(fetch.Stale, 64)
	n := 0
	for i := 0; b.Loop(); i++ {
		if text.MayBeStale(i & 63) {
			n++
		}
	}
}

// The CPU may be stale, but not about this instruction.
func BenchmarkFetchWithoutChoice(b *testing.B) {
	for _, model := range models {
		b.Run(model.String(), func(b *testing.B) {
			text, m := patched(model)
			for b.Loop() {
				text.Fetch(0, memoryAt+0x100, &m.buf, m)
			}
		})
	}
}

// The oldest version of an instruction, in one chunk or across two. The floor
// stays, so the choice is there again.
func BenchmarkFetchWithChoice(b *testing.B) {
	for _, model := range []fetch.Model{fetch.Stale, fetch.Mixing} {
		for _, at := range []uint64{0, 0x16} {
			b.Run(fmt.Sprintf("%v/%#x", model, at), func(b *testing.B) {
				text, m := patched(model)
				for b.Loop() {
					text.Fetch(0, memoryAt+at, &m.buf, m)
				}
			})
		}
	}
}

func BenchmarkRun(b *testing.B) {
	text := newText(fetch.Stale, 4)
	m := newMemory(b, nil, x86Length)
	m.pick = oldest
	for b.Loop() {
		aRun(text, m, 5)
	}
}

// patched is text with two patched sites. The old instructions are jumps too,
// so that all bytes are used whatever is chosen.
func patched(model fetch.Model) (*fetch.Text, *benched) {
	text := newText(model, 4)
	other := slices.Clone(jump)
	other[1], other[4] = 0x55, 0x66
	for _, at := range []uint64{0, 0x16} {
		text.Store(memoryAt+at+1, other[1:], jump[1:])
	}
	return text, &benched{}
}
