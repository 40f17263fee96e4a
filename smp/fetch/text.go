package fetch

import "kpsim/sim"

// chunkBytes is the unit in which memory is read by a fetch: an aligned
// quadword (AMD APM vol. 2, "Cross-Modifying Code").
const chunkBytes = 8

// A Text is the versions of all text of one machine, and what each of its CPUs
// may still see of them. It is reset for each run and reused; once its memory
// has grown to what a run needs, nothing allocates.
//
// Stores that change something are counted; the count is the epoch. A floor is
// an epoch too, and one rule reads all of them: what was current at the floor
// may be seen, and whatever came later. That is why serialising is O(1): it
// raises the floor of everything by noting one number.
type Text struct {
	model      Model
	epoch      uint32   // stores so far that changed something
	serialised []uint32 // by CPU: the epoch when it last serialised
	unit       int      // the aligned bytes that are chosen at once
	floors     int      // a CPU's own floors in a chunk: one a unit
	chunks     []chunk  // those stored to in this run; the ones beyond the length are kept for reuse
	table      []int32  // open addressing on chunk.number: index in chunks + 1, 0 if free
	shift      uint8    // 64 - log2(len(table))
}

// A chunk is eight aligned bytes of text that were stored to.
type chunk struct {
	number   uint64    // its address / chunkBytes
	known    uint64    // 0xff for each byte that was ever changed; the others are as in memory
	versions []version // oldest first, no two neighbours equal; the first has epoch 0
	fetched  []uint32  // by CPU and unit: the epoch of the version it fetched last
}

// A version is what a chunk held from epoch on, until the next version.
type version struct {
	epoch uint32
	bytes uint64 // the byte at the chunk's address + i in bits 8i and up; meaningful under known
}

const minTable = 256 // entries, for 128 chunks without growing; a power of two

// NewText returns the text of a machine of that many CPUs, with nothing stored yet. unit is how many
// aligned bytes a CPU fetches in one piece: 1, 2, 4 or 8. Two units of one instruction may be of
// different versions.
func NewText(model Model, cpus, unit int) *Text {
	if int(model) >= len(modelNames) {
		sim.Bug("fetch: %v is no model", model)
	}
	if cpus < 1 || cpus > sim.MaxCPUs {
		sim.Bug("fetch: %d CPUs: want 1 to %d", cpus, sim.MaxCPUs)
	}
	if unit < 1 || unit > chunkBytes || chunkBytes%unit != 0 {
		sim.Bug("fetch: units of %d bytes", unit)
	}
	t := &Text{model: model, serialised: make([]uint32, cpus), unit: unit, floors: chunkBytes / unit}
	t.resize(minTable)
	return t
}

// Reset forgets all versions: a new run begins. It costs one compare when
// nothing was stored.
func (t *Text) Reset() {
	if t.epoch == 0 { // so no CPU's serialised is above 0 either
		return
	}
	t.epoch = 0
	clear(t.serialised)
	clear(t.table)
	t.chunks = t.chunks[:0]
}

// Store records a store to text that has taken effect: the bytes at addr changed
// from old to new. It is called for every store after load, by any CPU. A store
// across chunks makes one version of each; their order doesn't matter, because a
// CPU sees two chunks independently.
//
// old must be what the previous store left; otherwise a store went unreported,
// which is a bug of the simulator.
func (t *Text) Store(addr uint64, old, new []byte) {
	if len(old) != len(new) {
		sim.Bug("fetch: a store to %#x of %d bytes over %d", addr, len(new), len(old))
	}
	if t.model == Coherent {
		return
	}
	for len(new) > 0 {
		first := int(addr % chunkBytes)
		n := min(chunkBytes-first, len(new))
		var was, is, mask uint64
		for i := range n {
			at := 8 * (first + i)
			was |= uint64(old[i]) << at
			is |= uint64(new[i]) << at
			mask |= 0xff << at
		}
		t.storeChunk(addr/chunkBytes, was, is, mask)
		addr, old, new = addr+uint64(n), old[n:], new[n:]
	}
}

// StoreChunk is Store of n bytes, 1 to 8, in one chunk; they are the low ones of
// old and new, whose others are 0.
func (t *Text) StoreChunk(addr, old, new uint64, n int) {
	if t.model == Coherent {
		return
	}
	shift := 8 * (addr % chunkBytes)
	t.storeChunk(addr/chunkBytes, old<<shift, new<<shift, ^uint64(0)>>(64-8*n)<<shift)
}

// storeChunk makes a version of a chunk in which the bytes under mask change from
// was to is.
//
// A store that changes nothing makes none; the comment of alternatives (fetch.go)
// shows that nothing is lost.
func (t *Text) storeChunk(number, was, is, mask uint64) {
	c := t.find(number)
	if c != nil {
		last := c.versions[len(c.versions)-1].bytes
		if (last^was)&mask&c.known != 0 {
			sim.Bug("fetch: a store to %#x over %#x, but the one before left %#x (bytes %#x)",
				number*chunkBytes, was&mask, last&mask&c.known, mask)
		}
	}
	if was == is {
		return
	}
	if c == nil {
		c = t.add(number)
	}
	if fresh := mask &^ c.known; fresh != 0 {
		// Never changed before now, so these bytes were the same in every version.
		for i := range c.versions {
			c.versions[i].bytes |= was & fresh
		}
		c.known |= fresh
	}
	t.epoch++
	last := c.versions[len(c.versions)-1].bytes
	c.versions = append(c.versions, version{t.epoch, last&^mask | is})
}

// Serialise records that cpu has serialised its instruction stream: from now on it sees the
// current version of all text, or a newer one. The machine decides when a CPU serialises; the
// package comment has the list.
func (t *Text) Serialise(cpu int) { t.serialised[cpu] = t.epoch }

// MayBeStale reports whether a fetch of cpu might see anything but memory. If
// not, which is always so under Coherent, Fetch doesn't have to be called.
func (t *Text) MayBeStale(cpu int) bool { return t.serialised[cpu] < t.epoch }

// unitAt returns the bits of a chunk that belong to the unit of its byte first.
func (t *Text) unitAt(first int) uint64 {
	return ^uint64(0) >> (64 - 8*t.unit) << (8 * (first - first%t.unit))
}

// find returns the chunk of that number, nil if it wasn't stored to. It is
// valid until the next store.
func (t *Text) find(number uint64) *chunk {
	for i := t.home(number); ; i = (i + 1) & (len(t.table) - 1) {
		at := t.table[i]
		if at == 0 {
			return nil
		}
		if c := &t.chunks[at-1]; c.number == number {
			return c
		}
	}
}

// home is where in the table the search for a number begins: Fibonacci hashing.
func (t *Text) home(number uint64) int { return int(number * 0x9e3779b97f4a7c15 >> t.shift) }

// add makes a chunk with one version, of which no byte is known yet.
func (t *Text) add(number uint64) *chunk {
	if len(t.chunks) < cap(t.chunks) {
		t.chunks = t.chunks[:len(t.chunks)+1] // reuses its slices
	} else {
		t.chunks = append(t.chunks, chunk{})
	}
	c := &t.chunks[len(t.chunks)-1]
	c.number, c.known = number, 0
	c.versions = append(c.versions[:0], version{})
	if c.fetched == nil {
		c.fetched = make([]uint32, len(t.serialised)*t.floors)
	}
	clear(c.fetched)

	if 2*len(t.chunks) > len(t.table) {
		t.resize(2 * len(t.table))
	} else {
		t.enter(len(t.chunks) - 1)
	}
	return c
}

// enter puts a chunk that isn't in the table yet into it.
func (t *Text) enter(index int) {
	i := t.home(t.chunks[index].number)
	for t.table[i] != 0 {
		i = (i + 1) & (len(t.table) - 1)
	}
	t.table[i] = int32(index + 1)
}

// resize makes a table of size entries, a power of two, and enters every chunk.
func (t *Text) resize(size int) {
	t.table = make([]int32, size)
	t.shift = 64
	for ; size > 1; size /= 2 {
		t.shift--
	}
	for i := range t.chunks {
		t.enter(i)
	}
}

// AddState adds what the CPUs may see to a hash. Epochs count stores,
// so two machines with the same future may hash differently.
func (t *Text) AddState(h *sim.Hash) {
	if t.epoch == 0 {
		return
	}
	h.Add(uint64(t.epoch))
	for _, e := range t.serialised {
		h.Add(uint64(e))
	}
	for i := range t.chunks {
		c := &t.chunks[i]
		k := sim.Hash{Hi: c.number, Lo: c.known}
		for _, v := range c.versions {
			k.Add(uint64(v.epoch))
			k.Add(v.bytes)
		}
		for _, e := range c.fetched {
			k.Add(uint64(e))
		}
		h.Join(k)
	}
}
