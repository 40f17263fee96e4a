package fetch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/smp/fetch"
)

// The reference keeps every version of everything, merges nothing, hashes
// nothing, and takes each sentence of the package comment literally.
//
// A place is what has versions: under stale a chunk, under mixing a byte.
// Every store to a chunk makes a new version of each place in it, also of
// bytes it didn't touch, also if it changes nothing.
type reference struct {
	mixing   bool
	versions [][][]byte  // by place, oldest first
	floors   map[int]int // by cpu * 100 + place: the index of the oldest version allowed
	memory   []byte
}

func newReference(mixing bool, memory []byte) *reference {
	r := &reference{mixing: mixing, floors: map[int]int{}, memory: slices.Clone(memory)}
	for i := 0; i < len(memory); i += r.size() {
		r.versions = append(r.versions, [][]byte{slices.Clone(memory[i : i+r.size()])})
	}
	return r
}

func (r *reference) size() int {
	if r.mixing {
		return 1
	}
	return 8
}

func (r *reference) clone() *reference {
	c := *r
	c.memory = slices.Clone(r.memory)
	c.versions = nil
	for _, v := range r.versions {
		c.versions = append(c.versions, slices.Clone(v))
	}
	c.floors = map[int]int{}
	for k, v := range r.floors {
		c.floors[k] = v
	}
	return &c
}

func (r *reference) store(at int, b []byte) {
	copy(r.memory[at:], b)
	for p := range r.versions {
		begin := p * r.size()
		if chunk := begin / 8; at/8 <= chunk && chunk <= (at+len(b)-1)/8 {
			r.versions[p] = append(r.versions[p], slices.Clone(r.memory[begin:begin+r.size()]))
		}
	}
}

func (r *reference) serialise(cpu int) {
	for p, v := range r.versions {
		r.floors[cpu*100+p] = len(v) - 1
	}
}

// fetch returns what the CPU may see at the address, each with the state after.
func (r *reference) fetch(cpu, at int) map[string]*reference {
	all := map[string]*reference{}
	r.extend(cpu, at, nil, all)
	return all
}

// extend reads the place that the instruction, begun with b, needs next.
func (r *reference) extend(cpu, at int, b []byte, all map[string]*reference) {
	if n, ok := toyLength(b); ok || at+len(b) == len(r.memory) || len(b) >= 15 {
		b = b[:min(max(n, 1), len(b), 15)]
		all[fmt.Sprintf("% x", b)+"\x00"+fmt.Sprint(r.floors)] = r
		return
	}
	place, offset := (at+len(b))/r.size(), (at+len(b))%r.size()
	key := cpu*100 + place
	for i := r.floors[key]; i < len(r.versions[place]); i++ {
		next := r.clone()
		next.floors[key] = i
		next.extend(cpu, at, append(slices.Clone(b), r.versions[place][i][offset:]...), all)
	}
}

// toyLength is an instruction set in three bytes: 0 is an instruction, 1 takes
// one byte more, 2 takes one or two as that one says.
func toyLength(b []byte) (n int, ok bool) {
	if len(b) == 0 {
		return 0, false
	}
	n = 1 + min(int(b[0]), 1)
	if n <= len(b) && b[0] == 2 && b[1] == 2 {
		n++
	}
	return n, n <= len(b)
}

// A history for the property: what it does to a reference and to a Text.
type event struct {
	cpu   int
	at    int
	store []byte
	fetch bool
}

// histories are small, about the end of one chunk and the beginning of the
// next, with few values, so that versions repeat and instructions overlap.
func histories(t *rapid.T) (memory []byte, events []event) {
	memory = rapid.SliceOfN(rapid.ByteRange(0, 2), 16, 16).Draw(t, "memory")
	stores, fetches := 0, 0
	n := rapid.IntRange(1, 9).Draw(t, "events")
	for range n {
		e := event{
			cpu: rapid.IntRange(0, 1).Draw(t, "cpu"),
			at:  rapid.IntRange(5, 9).Draw(t, "at"),
		}
		switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
		case kind <= 2 && stores < 5:
			stores++
			e.store = rapid.SliceOfN(rapid.ByteRange(0, 2), 1, 4).Draw(t, "bytes")
		case kind <= 4 && fetches < 3:
			fetches++
			e.fetch = true
		}
		events = append(events, e)
	}
	return memory, events
}

// expected walks the history with all states of the reference that can be
// reached, told apart by what was seen and by their floors.
func expected(memory []byte, events []event, mixing bool) []string {
	type state struct {
		r    *reference
		seen string
	}
	states := map[string]state{"": {newReference(mixing, memory), ""}}
	for _, e := range events {
		next := map[string]state{}
		for key, s := range states {
			switch {
			case e.store != nil:
				s.r.store(e.at, e.store)
				next[key] = s
			case e.fetch:
				for k, r := range s.r.fetch(e.cpu, e.at) {
					b, _, _ := strings.Cut(k, "\x00")
					seen := s.seen + b + "; "
					next[seen+fmt.Sprint(r.floors)] = state{r.clone(), seen}
				}
			default:
				s.r.serialise(e.cpu)
				next[s.seen+fmt.Sprint(s.r.floors)] = s
			}
		}
		states = next
	}
	var all []string
	for _, s := range states {
		all = append(all, s.seen)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// reached is the same of the package, over all its choices.
func reached(t testing.TB, memory []byte, events []event, model fetch.Model) outcomes {
	text := newText(model, 2)
	return explore(func(x *explorer) string {
		m := newMemory(t, x, toyLength)
		m.mapped = len(memory)
		m.put(memoryAt, memory)
		text.Reset()
		var seen strings.Builder
		for _, e := range events {
			switch {
			case e.store != nil:
				m.store(text, memoryAt+uint64(e.at), e.store)
			case e.fetch:
				seen.WriteString(m.fetch(text, e.cpu, memoryAt+uint64(e.at)) + "; ")
			default:
				text.Serialise(e.cpu)
			}
		}
		return seen.String()
	})
}

// For small random histories, exactly what the reference can see is seen.
func TestSeesWhatTheReferenceSees(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		memory, events := histories(rt)
		coherent := reached(t, memory, events, fetch.Coherent)
		stale := reached(t, memory, events, fetch.Stale)
		mixing := reached(t, memory, events, fetch.Mixing)

		require.Equal(rt, 1, coherent.paths, "coherent asks nothing")
		require.Equal(rt, expected(memory, events, false), stale.all, "stale")
		require.Equal(rt, expected(memory, events, true), mixing.all, "mixing")

		require.Equal(rt, coherent.first, stale.first, "the freshest")
		require.Equal(rt, coherent.first, mixing.first, "the freshest")
		require.Subset(rt, stale.all, coherent.all)
		require.Subset(rt, mixing.all, stale.all)
	})
}
