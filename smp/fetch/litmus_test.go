package fetch_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/fetch"
)

// The litmus tests: a history of stores, serialisations and fetches, and
// everything that the fetches may see together, under each model.
//
// A name is the shape, then each CPU's steps: bp, tail, head are the three
// stores of a patch, s a serialisation of the CPU that runs. Deleting a step
// deletes it from the name.

// A step of a history. Offsets are relative to the site.
type step struct {
	cpu   int
	at    uint64
	store string // hex; else:
	fetch bool   // else the CPU serialises
}

func store(at uint64, hex string) step { return step{at: at, store: hex} }
func run(cpu int, at uint64) step      { return step{cpu: cpu, at: at, fetch: true} }
func serialise(cpu int) step           { return step{cpu: cpu} }

var (
	// The site of most tests is a two-byte nop, 66 90, that becomes a short
	// jump, eb 10; a ret, c3, follows it. One blend of the two, 66 10 c3, is
	// longer than both: adc bl, al.
	bp   = store(0, "cc")
	tail = store(1, "10")
	head = store(0, "eb")
	s    = serialise(1)
	runs = run(1, 0)
)

const nopRet = "66 90 c3"

// Where the site is: within a chunk, or with its first byte at the end of one.
const (
	within uint64 = 0x1000
	across uint64 = 0x1007
)

type litmus struct {
	name  string
	text  string // hex, from the site on; int3 elsewhere
	site  uint64
	steps []step

	// What may be seen: the fetches of one run are joined by " | ".
	coherent, stale, mixing []string
}

var litmusTests = []litmus{
	// The protocol, step by step. These are the table of the package comment.
	{
		name: "XM+bp+run/within", text: nopRet, site: within,
		steps:    []step{bp, runs},
		coherent: []string{"cc"},
		stale:    []string{"cc", "66 90"},
		mixing:   []string{"cc", "66 90"},
	},
	{
		name: "XM+bp.s+run/within", text: nopRet, site: within,
		steps:    []step{bp, s, runs},
		coherent: []string{"cc"},
		stale:    []string{"cc"},
		mixing:   []string{"cc"},
	},
	{
		name: "XM+bp.tail+run/within", text: nopRet, site: within,
		steps:    []step{bp, tail, runs},
		coherent: []string{"cc"},
		stale:    []string{"cc", "66 90"}, // never the blend: one chunk, read once
		mixing:   []string{"cc", "66 90", "66 10 c3"},
	},
	{
		name: "XM+bp.tail+run/across", text: nopRet, site: across,
		steps:    []step{bp, tail, runs},
		coherent: []string{"cc"},
		stale:    []string{"cc", "66 90", "66 10 c3"},
		mixing:   []string{"cc", "66 90", "66 10 c3"},
	},
	{
		name: "XM+bp.s.tail+run/across", text: nopRet, site: across,
		steps:    []step{bp, s, tail, runs},
		coherent: []string{"cc"},
		stale:    []string{"cc"},
		mixing:   []string{"cc"},
	},
	{
		name: "XM+bp.tail.head+run/within", text: nopRet, site: within,
		steps:    []step{bp, tail, head, runs},
		coherent: []string{"eb 10"},
		stale:    []string{"eb 10", "cc", "66 90"},
		mixing:   []string{"eb 10", "eb 90", "cc", "66 90", "66 10 c3"},
	},
	{
		name: "XM+bp.tail.head+run/across", text: nopRet, site: across,
		steps:    []step{bp, tail, head, runs},
		coherent: []string{"eb 10"},
		stale:    []string{"eb 10", "eb 90", "cc", "66 90", "66 10 c3"},
		mixing:   []string{"eb 10", "eb 90", "cc", "66 90", "66 10 c3"},
	},
	{
		name: "XM+bp.s.tail.head+run/within", text: nopRet, site: within,
		steps:    []step{bp, s, tail, head, runs},
		coherent: []string{"eb 10"},
		stale:    []string{"eb 10", "cc"},
		mixing:   []string{"eb 10", "eb 90", "cc"},
	},
	{
		name: "XM+bp.s.tail.head+run/across", text: nopRet, site: across,
		steps:    []step{bp, s, tail, head, runs},
		coherent: []string{"eb 10"},
		stale:    []string{"eb 10", "eb 90", "cc"},
		mixing:   []string{"eb 10", "eb 90", "cc"},
	},
	{
		name: "XM+bp.s.tail.s.head+run/across", text: nopRet, site: across,
		steps:    []step{bp, s, tail, s, head, runs},
		coherent: []string{"eb 10"},
		stale:    []string{"eb 10", "cc"},
		mixing:   []string{"eb 10", "cc"},
	},
	{
		name: "XM+bp.s.tail.s.head.s+run/across", text: nopRet, site: across,
		steps:    []step{bp, s, tail, s, head, s, runs},
		coherent: []string{"eb 10"},
		stale:    []string{"eb 10"},
		mixing:   []string{"eb 10"},
	},
	{
		name: "XM+bp+run/across", text: nopRet, site: across,
		steps:    []step{bp, runs},
		coherent: []string{"cc"},
		stale:    []string{"cc", "66 90"},
		mixing:   []string{"cc", "66 90"},
	},
	{
		name: "XM+bp.s+run/across", text: nopRet, site: across,
		steps:    []step{bp, s, runs},
		coherent: []string{"cc"},
		stale:    []string{"cc"},
		mixing:   []string{"cc"},
	},
	{
		name: "XM+bp.s.tail+run/within", text: nopRet, site: within,
		steps:    []step{bp, s, tail, runs},
		coherent: []string{"cc"},
		stale:    []string{"cc"},
		mixing:   []string{"cc"},
	},
	{
		name: "XM+bp.s.tail.s.head+run/within", text: nopRet, site: within,
		steps:    []step{bp, s, tail, s, head, runs},
		coherent: []string{"eb 10"},
		stale:    []string{"eb 10", "cc"},
		mixing:   []string{"eb 10", "cc"},
	},
	{
		name: "XM+bp.s.tail.s.head.s+run/within", text: nopRet, site: within,
		steps:    []step{bp, s, tail, s, head, s, runs},
		coherent: []string{"eb 10"},
		stale:    []string{"eb 10"},
		mixing:   []string{"eb 10"},
	},
	{
		// Without a breakpoint even coherent memory shows the blend: the control.
		name: "XM+tail.s.head.s+run/within", text: nopRet, site: within,
		steps:    []step{tail, s, runs, head, s, runs},
		coherent: []string{"66 10 c3 | eb 10"},
		stale:    []string{"66 10 c3 | eb 10"},
		mixing:   []string{"66 10 c3 | eb 10"},
	},

	// A CPU that looks twice.
	{
		name: "XM+bp.tail.head+run.run/within", text: nopRet, site: within,
		steps:    []step{bp, tail, head, runs, runs},
		coherent: []string{"eb 10 | eb 10"},
		stale: []string{ // never back
			"eb 10 | eb 10",
			"cc | eb 10", "cc | cc",
			"66 90 | eb 10", "66 90 | cc", "66 90 | 66 90",
		},
		mixing: []string{
			"eb 10 | eb 10",
			"eb 90 | eb 10", "eb 90 | eb 90",
			"cc | eb 10", "cc | eb 90", "cc | cc",
			"66 90 | eb 10", "66 90 | eb 90", "66 90 | cc", "66 90 | 66 90", "66 90 | 66 10 c3",
			"66 10 c3 | eb 10", "66 10 c3 | cc", "66 10 c3 | 66 10 c3", // the tail stays new
		},
	},
	{
		// Fetched since counts only until it is overtaken: a serialisation in
		// between leaves one outcome.
		name: "XM+bp.tail.head+run.s.run/within", text: nopRet, site: within,
		steps:    []step{bp, tail, head, runs, s, runs},
		coherent: []string{"eb 10 | eb 10"},
		stale:    []string{"eb 10 | eb 10", "cc | eb 10", "66 90 | eb 10"},
		mixing:   []string{"eb 10 | eb 10", "eb 90 | eb 10", "cc | eb 10", "66 90 | eb 10", "66 10 c3 | eb 10"},
	},
	{
		// The floor is the chunk's, of all its bytes, under stale; under mixing
		// the ret has its own.
		name: "MP+first.second+second.first/within", text: "55 c3", site: within,
		steps:    []step{store(0, "90"), store(1, "cc"), run(1, 1), run(1, 0)},
		coherent: []string{"cc | 90"},
		stale:    []string{"cc | 90", "c3 | 90", "c3 | 55"},
		mixing:   []string{"cc | 90", "cc | 55", "c3 | 90", "c3 | 55"},
	},
	{
		// Two chunks: what is seen of one says nothing of the other.
		name: "MP+first.second+second.first/across", text: "55 c3", site: across,
		steps:    []step{store(0, "90"), store(1, "cc"), run(1, 1), run(1, 0)},
		coherent: []string{"cc | 90"},
		stale:    []string{"cc | 90", "cc | 55", "c3 | 90", "c3 | 55"},
		mixing:   []string{"cc | 90", "cc | 55", "c3 | 90", "c3 | 55"},
	},
	{
		// What one CPU has fetched, or that it serialised, is nothing to another.
		name: "IRIW+bp+run.s.run+run/within", text: nopRet, site: within,
		steps:    []step{bp, runs, s, runs, run(2, 0)},
		coherent: []string{"cc | cc | cc"},
		stale:    []string{"cc | cc | cc", "cc | cc | 66 90", "66 90 | cc | cc", "66 90 | cc | 66 90"},
		mixing:   []string{"cc | cc | cc", "cc | cc | 66 90", "66 90 | cc | cc", "66 90 | cc | 66 90"},
	},

	// The storing CPU is no exception: a store doesn't say which CPU did it,
	// and CPU 0, which did, sees what anyone does until it serialises.
	{
		name: "SM+bp.run.s.run/within", text: nopRet, site: within,
		steps:    []step{bp, run(0, 0), serialise(0), run(0, 0)},
		coherent: []string{"cc | cc"},
		stale:    []string{"cc | cc", "66 90 | cc"},
		mixing:   []string{"cc | cc", "66 90 | cc"},
	},

	// One store.
	{
		// A store of one byte, in no model seen as anything but before or after.
		name: "XM+byte+run/within", text: "0f 1f 44 00 00", site: within,
		steps:    []step{store(3, "08"), runs},
		coherent: []string{"0f 1f 44 08 00"},
		stale:    []string{"0f 1f 44 08 00", "0f 1f 44 00 00"},
		mixing:   []string{"0f 1f 44 08 00", "0f 1f 44 00 00"},
	},
	{
		// A store of the whole instruction within a chunk doesn't tear under
		// stale, nor does it matter what stands before the site in the chunk.
		name: "XM+whole+run/within", text: nopRet, site: within + 5,
		steps:    []step{store(0, "eb 10"), runs},
		coherent: []string{"eb 10"},
		stale:    []string{"eb 10", "66 90"},
		mixing:   []string{"eb 10", "eb 90", "66 90", "66 10 c3"},
	},
	{
		name: "XM+whole+run/across", text: nopRet, site: across,
		steps:    []step{store(0, "eb 10"), runs},
		coherent: []string{"eb 10"},
		stale:    []string{"eb 10", "eb 90", "66 90", "66 10 c3"},
		mixing:   []string{"eb 10", "eb 90", "66 90", "66 10 c3"},
	},
	{
		// Five bytes, three of them in the next chunk.
		name: "XM+jump+run/across", text: "0f 1f 44 00 00", site: within + 6,
		steps:    []step{store(0, "0f 1f 44 11 22"), runs},
		coherent: []string{"0f 1f 44 11 22"},
		stale:    []string{"0f 1f 44 11 22", "0f 1f 44 00 00"},
		mixing:   []string{"0f 1f 44 11 22", "0f 1f 44 11 00", "0f 1f 44 00 22", "0f 1f 44 00 00"},
	},
	{
		name: "XM+jump.both+run/across", text: "0f 1f 44 00 00", site: within + 4,
		steps:    []step{store(0, "0f 1f 44 11 22"), runs},
		coherent: []string{"0f 1f 44 11 22"},
		stale:    []string{"0f 1f 44 11 22", "0f 1f 44 11 00", "0f 1f 44 00 22", "0f 1f 44 00 00"},
		mixing:   []string{"0f 1f 44 11 22", "0f 1f 44 11 00", "0f 1f 44 00 22", "0f 1f 44 00 00"},
	},

	// Lengths that change.
	{
		// The new head is longer than the old instruction: only a CPU that sees
		// it uses the bytes after it, and is asked about them.
		name: "XM+longer+run/across", text: "55 48 89 e5 c3", site: within + 7,
		steps:    []step{store(1, "90 90 90"), store(0, "e9"), runs},
		coherent: []string{"e9 90 90 90 c3"},
		stale:    []string{"e9 90 90 90 c3", "e9 48 89 e5 c3", "55"},
		mixing: []string{
			"e9 90 90 90 c3", "e9 90 90 e5 c3", "e9 90 89 90 c3", "e9 90 89 e5 c3",
			"e9 48 90 90 c3", "e9 48 90 e5 c3", "e9 48 89 90 c3", "e9 48 89 e5 c3",
			"55",
		},
	},
	{
		// The new head is shorter.
		name: "XM+shorter+run.run/within", text: "48 89 e5 c3", site: within,
		steps:    []step{store(0, "90"), store(1, "90"), store(2, "90"), runs, run(1, 1)},
		coherent: []string{"90 | 90"},
		stale: []string{
			"90 | 90",
			"90 | 89 e5", // the second nop was stored after the first
			"48 89 e5 | 90", "48 89 e5 | 89 e5",
		},
		mixing: []string{
			"90 | 90",
			"90 | 89 e5", "90 | 89 90",
			"48 89 e5 | 90", "48 89 e5 | 89 e5", "48 89 e5 | 89 90",
			"48 89 90 | 90", "48 89 90 | 89 90",
			"48 90 | 90", // nop with a prefix
		},
	},

	// The same bytes again.
	{
		// A, B, A: once back at the second A, B is gone; but which A it was
		// can't be seen at once.
		name: "ABA+bp.restore+run.run.run/within", text: "55", site: within,
		steps:    []step{store(0, "cc"), store(0, "55"), runs, runs, runs},
		coherent: []string{"55 | 55 | 55"},
		stale: []string{
			"55 | 55 | 55", "55 | 55 | cc", "55 | cc | 55", "55 | cc | cc",
			"cc | 55 | 55", "cc | cc | 55", "cc | cc | cc", // never cc | 55 | cc
		},
		mixing: []string{
			"55 | 55 | 55", "55 | 55 | cc", "55 | cc | 55", "55 | cc | cc",
			"cc | 55 | 55", "cc | cc | 55", "cc | cc | cc",
		},
	},
	{
		name: "ABA+bp.s.restore+run.run/within", text: "55", site: within,
		steps:    []step{store(0, "cc"), s, store(0, "55"), runs, runs},
		coherent: []string{"55 | 55"},
		stale:    []string{"55 | 55", "cc | 55", "cc | cc"},
		mixing:   []string{"55 | 55", "cc | 55", "cc | cc"},
	},
	{
		// A store of what is there already can't be told from none.
		name: "AA+same+run/within", text: nopRet, site: within,
		steps:    []step{store(0, "66 90"), runs},
		coherent: []string{"66 90"},
		stale:    []string{"66 90"},
		mixing:   []string{"66 90"},
	},
	{
		// A serialisation between two equal stores is one as any other.
		name: "AA+bp.s.bp+run/within", text: nopRet, site: within,
		steps:    []step{bp, s, bp, runs},
		coherent: []string{"cc"},
		stale:    []string{"cc"},
		mixing:   []string{"cc"},
	},
}

func TestLitmus(t *testing.T) {
	for _, l := range litmusTests {
		for _, m := range []struct {
			model fetch.Model
			want  []string
		}{{fetch.Coherent, l.coherent}, {fetch.Stale, l.stale}, {fetch.Mixing, l.mixing}} {
			t.Run(l.name+"/"+m.model.String(), func(t *testing.T) {
				got := l.outcomes(t, m.model)
				require.ElementsMatch(t, m.want, got.all)
				require.Equal(t, l.coherent[0], got.first, "the freshest of everything is what memory holds")
			})
		}
	}
}

// The three models form a chain, in every litmus test.
func TestModelsAreEachWeakerThanTheOneBefore(t *testing.T) {
	for _, l := range litmusTests {
		require.Subset(t, l.stale, l.coherent, l.name)
		require.Subset(t, l.mixing, l.stale, l.name)
	}
}

func (l *litmus) outcomes(t *testing.T, model fetch.Model) outcomes {
	text := newText(model, 3)
	return explore(func(x *explorer) string {
		m := newMemory(t, x, x86Length)
		m.put(l.site, unhex(t, l.text))
		text.Reset()
		var seen []string
		for _, s := range l.steps {
			switch {
			case s.store != "":
				m.store(text, l.site+s.at, unhex(t, s.store))
			case s.fetch:
				seen = append(seen, m.fetch(text, s.cpu, l.site+s.at))
			default:
				text.Serialise(s.cpu)
			}
		}
		return strings.Join(seen, " | ")
	})
}

// x86Length knows the few instructions used here.
func x86Length(b []byte) (n int, ok bool) {
	if len(b) == 0 {
		return 0, false
	}
	switch b[0] {
	case 0x66, 0x48: // prefixes
		n, ok = x86Length(b[1:])
		return n + 1, ok
	case 0xeb, 0x89, 0x10:
		n = 2
	case 0xe9, 0x0f:
		n = 5
	case 0x55, 0x90, 0xc3, 0xcc, 0xe5:
		n = 1
	default:
		return 0, false // undecodable
	}
	return n, n <= len(b)
}

func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}
