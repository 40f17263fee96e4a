package properties

import (
	"kpsim/traces"
)

// An insn is an instruction and its address, packed as in events: two have the same
// bytes if lo and hi are equal.
type insn struct{ addr, lo, hi uint64 }

func (i *insn) len() uint64 { return i.hi >> 56 }

// at returns byte k.
func (i *insn) at(k uint64) byte {
	if k < 8 {
		return byte(i.lo >> (8 * k))
	}
	return byte(i.hi >> (8 * (k - 8)))
}

// begins reports whether i begins with all bytes of lo, hi. No instruction is a
// prefix of another, so it is then i's first instruction.
func (i *insn) begins(lo, hi uint64) bool {
	n := hi >> 56
	if i.len() < n {
		return false
	}
	if n <= 8 {
		return (i.lo^lo)&mask(n) == 0
	}
	return i.lo == lo && (i.hi^hi)&mask(n-8) == 0
}

// mask covers the low n bytes of a word, n <= 8.
func mask(n uint64) uint64 {
	if n >= 8 {
		return ^uint64(0)
	}
	return 1<<(8*n) - 1
}

// loads are the linked instructions, from the head of the log. Runs of one scenario
// have the same head: the last run's is kept, and only compared.
type loads struct {
	insns    []insn
	reported int // the first ones of insns, which this run has reported
}

func (l *loads) reset() { l.reported = 0 }

// load handles a Load event and reports whether the last run didn't have it.
func (l *loads) load(e *traces.Event) (fresh bool) {
	if l.reported < len(l.insns) {
		if x := &l.insns[l.reported]; x.addr == e.A && x.lo == e.B && x.hi == e.C {
			l.reported++
			return false
		}
	}
	l.insns = append(l.insns[:l.reported], insn{e.A, e.B, e.C})
	l.reported++
	return true
}

// A text is the monitors' own model of executable memory: the linked instructions, from
// Load events, and the bytes in memory now, from TextStores. A byte outside the linked
// text is known once it was stored.
type text struct {
	blocks []block `state:"set: they are looked up by their base"`
	// how many of them, from the first, are of linked text
	linked int `state:"boot"`
	// how many instructions they are made from
	built int `state:"boot"`
	// nil if it must be looked up
	last   *block                  `state:"skip: which block was found last: a memory of what can be found out"`
	lately [1 << latelyBits]uint16 `state:"skip: where blocks were found: a memory of what can be found out"`
	loads  loads                   `state:"boot"`

	// bumped when a cached verdict about an Exec may be stale
	version uint64 `state:"skip: whether Scene.dulls still holds"`
}

const (
	blockSize   = 64
	chunkSize   = 8 // a TextStore's: it lies inside one aligned chunk
	blockChunks = blockSize / chunkSize
	latelyBits  = 5 // for the cache of blocks found lately
)

// A block is 64 aligned bytes. Its planes have a word for each chunk: bytes, and masks
// of bytes.
type block struct {
	base   uint64
	stored bool                // memory may differ from the linked bytes
	text   bool                // part of it is linked text
	start  uint64              `state:"boot"` // bit i: a linked instruction begins at base+i
	marks  uint64              // bit i: base+i is patched in this run, see Scene
	which  [blockSize]uint16   `state:"boot"` // and its index in loads
	linked [blockChunks]uint64 `state:"boot"` // 0xff: of the linked text
	known  [blockChunks]uint64 // 0xff: memory is known
	orig   [blockChunks]uint64 `state:"boot"`
	mem    [blockChunks]uint64
}

func (t *text) reset() {
	t.version++
	t.loads.reset()
	t.last = nil
	t.blocks = t.blocks[:t.linked]
	for i := range t.blocks {
		b := &t.blocks[i]
		if b.stored {
			b.mem, b.known, b.stored = b.orig, b.linked, false
		}
		b.marks = 0
	}
}

// find returns the block of addr, or nil. It is valid until grow.
func (t *text) find(addr uint64) *block {
	if b := t.last; b != nil && addr-b.base < blockSize {
		return b
	}
	return t.seek(addr)
}

// seek is find for a block other than the last one.
func (t *text) seek(addr uint64) *block {
	if t.built != t.loads.reported {
		t.rebuild() // the last run had more text
	}
	t.last = t.lookup(addr)
	return t.last
}

func (t *text) lookup(addr uint64) *block {
	base := addr &^ (blockSize - 1)
	near := &t.lately[base/blockSize*0x9e3779b97f4a7c15>>(64-latelyBits)]
	if i := int(*near); i < len(t.blocks) && t.blocks[i].base == base {
		return &t.blocks[i]
	}
	for i := range t.blocks {
		if t.blocks[i].base == base {
			*near = uint16(i)
			return &t.blocks[i]
		}
	}
	return nil
}

// grow returns the block of addr, and makes it if there is none.
func (t *text) grow(addr uint64) *block {
	if b := t.lookup(addr); b != nil {
		return b
	}
	n := len(t.blocks)
	if n < cap(t.blocks) {
		t.blocks = t.blocks[:n+1]
	} else {
		t.last = nil // they move
		t.blocks = append(t.blocks, block{})
	}
	t.blocks[n] = block{base: addr &^ (blockSize - 1)}
	return &t.blocks[n]
}

// load handles a Load event.
func (t *text) load(e *traces.Event) {
	t.version++
	t.last = nil
	if t.loads.load(e) {
		t.rebuild()
	}
}

// again declares that this run has the text of the last one, whose Loads won't be sent.
func (t *text) again() { t.loads.reported = t.built }

// rebuild makes the blocks from the loads: adds the last load if it is the only new
// one, else builds all again.
func (t *text) rebuild() {
	t.last = nil
	if t.built >= t.loads.reported {
		t.blocks, t.linked, t.built = t.blocks[:0], 0, 0
	}
	for ; t.built < t.loads.reported; t.built++ {
		x := &t.loads.insns[t.built]
		b := t.grow(x.addr)
		b.text = true
		b.start |= 1 << (x.addr % blockSize)
		b.which[x.addr%blockSize] = uint16(t.built)
		t.link(x.addr, x.lo, min(x.len(), 8))
		if x.len() > 8 {
			t.link(x.addr+8, x.hi, x.len()-8)
		}
	}
	t.linked = len(t.blocks)
}

// link puts n <= 8 bytes of linked text at addr: in one chunk, or in two.
func (t *text) link(addr, v, n uint64) {
	s := addr % chunkSize
	for done := uint64(0); done < n; s = 0 {
		k := min(n-done, chunkSize-s)
		b, w := t.grow(addr+done), (addr+done)/chunkSize%blockChunks
		b.text = true
		m := mask(k) << (8 * s)
		bytes := v >> (8 * done) << (8 * s) & m
		b.linked[w] |= m
		b.known[w] |= m
		b.orig[w] = b.orig[w]&^m | bytes
		b.mem[w] = b.mem[w]&^m | bytes
		done += k
	}
}

// store handles a TextStore event, and returns its block.
func (t *text) store(e *traces.Event) *block {
	t.version++
	b := t.find(e.A)
	if b == nil {
		b = t.grow(e.A)
	}
	b.stored = true
	w, s := e.A/chunkSize%blockChunks, 8*(e.A%chunkSize)
	m := mask(e.C) << s
	b.mem[w] = b.mem[w]&^m | e.B<<s&m
	b.known[w] |= m
	return b
}

// forget makes [addr, addr+size) unknown, except linked text.
func (t *text) forget(addr, size uint64) {
	t.version++
	first := addr &^ (blockSize - 1)
	for i := range t.blocks {
		b := &t.blocks[i]
		if b.base-first >= addr+size-first {
			continue
		}
		from, end := max(addr, b.base), min(addr+size, b.base+blockSize)
		for from < end {
			w, s := from/chunkSize%blockChunks, from%chunkSize
			k := min(end-from, chunkSize-s)
			b.known[w] &^= mask(k) << (8 * s) &^ b.linked[w]
			from += k
		}
	}
}

// relink resets [addr, addr+size) to the linked bytes: the text is unloaded, and will have these bytes when it is
// loaded again.
func (t *text) relink(addr, size uint64) {
	t.version++
	for i := range t.blocks {
		b := &t.blocks[i]
		from, end := max(addr, b.base), min(addr+size, b.base+blockSize)
		for b.text && from < end {
			w, s := from/chunkSize%blockChunks, from%chunkSize
			k := min(end-from, chunkSize-s)
			m := mask(k) << (8 * s) & b.linked[w]
			b.mem[w] = b.mem[w]&^m | b.orig[w]&m
			b.known[w] |= m
			from += k
		}
	}
}

// has reports whether the byte at addr is linked text. insn returns the instruction
// that begins there, or nil.
func (b *block) has(addr uint64) bool {
	return b.linked[addr/chunkSize%blockChunks]>>(8*(addr%chunkSize))&1 != 0
}

func (t *text) has(addr uint64) bool {
	b := t.find(addr)
	return b != nil && b.has(addr)
}

// starts reports whether a linked instruction begins at addr.
func (t *text) starts(addr uint64) bool {
	b := t.find(addr)
	return b != nil && b.start>>(addr%blockSize)&1 != 0
}

func (t *text) insn(b *block, addr uint64) *insn {
	if b.start>>(addr%blockSize)&1 == 0 {
		return nil
	}
	return &t.loads.insns[b.which[addr%blockSize]]
}

// insnAt returns the instruction that was linked at addr, without bytes if there is
// none.
func (t *text) insnAt(addr uint64) insn {
	if b := t.find(addr); b != nil {
		if x := t.insn(b, addr); x != nil {
			return *x
		}
	}
	return insn{addr: addr}
}

// head returns the eight bytes of memory at addr, and the linked ones: what an instruction that stands
// there, and the one that was linked there, begin with.
func (t *text) head(addr uint64) (mem, orig uint64) {
	w, s := addr/chunkSize%blockChunks, 8*(addr%chunkSize)
	b := t.find(addr)
	if b != nil {
		mem, orig = b.mem[w]>>s, b.orig[w]>>s
	}
	if s == 0 {
		return mem, orig
	}
	if w++; w == blockChunks {
		b, w = t.find(addr+chunkSize), 0
	}
	if b != nil {
		mem |= b.mem[w] << (64 - s)
		orig |= b.orig[w] << (64 - s)
	}
	return mem, orig
}

// byteAt returns the byte in memory at addr, and the linked one.
func (t *text) byteAt(addr uint64) (mem, orig byte) {
	b := t.find(addr)
	if b == nil {
		return 0, 0
	}
	w, s := addr/chunkSize%blockChunks, 8*(addr%chunkSize)
	return byte(b.mem[w] >> s), byte(b.orig[w] >> s)
}

// word returns the eight bytes of memory at addr and the mask of the known ones.
func (t *text) word(addr uint64) (mem, known uint64) {
	w, s := addr/chunkSize%blockChunks, 8*(addr%chunkSize)
	b := t.find(addr)
	if b != nil {
		mem, known = b.mem[w]>>s, b.known[w]>>s
	}
	if s == 0 {
		return mem, known
	}
	if w++; w == blockChunks {
		b, w = t.find(addr+chunkSize), 0
	}
	if b != nil {
		mem |= b.mem[w] << (64 - s)
		known |= b.known[w] << (64 - s)
	}
	return mem, known
}

// holds reports whether memory holds the whole of i.
func (t *text) holds(i *insn) bool { return t.holdsFrom(i, 0) }

// holdsFrom reports whether memory holds i from its byte number k on.
func (t *text) holdsFrom(i *insn, k uint64) bool {
	for ; k < i.len(); k++ {
		if m, _ := t.byteAt(i.addr + k); m != i.at(k) {
			return false
		}
	}
	return true
}

// images are the whole instructions that patchers declared, each once.
type images []insn

// add handles an Image event.
func (s *images) add(e *traces.Event) {
	for i := range *s {
		if x := &(*s)[i]; x.addr == e.A && x.lo == e.B && x.hi == e.C {
			return
		}
	}
	*s = append(*s, insn{e.A, e.B, e.C})
}

// has reports whether an executed instruction is one that begins there, or the second one of a branch of two.
func (s images) has(p *processor, e *traces.Event) bool {
	for i := range s {
		if x := &s[i]; x.addr == e.A && x.begins(e.B, e.C) || p.isSecond(x, e) {
			return true
		}
	}
	return false
}

// calls reports whether ftrace may have written a call at an address: a function's site.
func (s images) calls(p *processor, addr uint64) bool {
	for i := range s {
		if x := &s[i]; x.addr == addr && p.calls(x.lo) {
			return true
		}
	}
	return false
}
