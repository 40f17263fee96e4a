package smp

import (
	"bytes"
	"encoding/binary"
	"slices"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/fetch"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A decoded is a sequence of bytes at an address and the instruction it decodes to. It is an
// entry of the memo, which avoids decoding watched text again at each step.
type decoded struct {
	at       arch.Addr
	lo, hi   uint64 // the instruction's bytes, packed as in events
	mlo, mhi uint64 // a mask of the bits of lo and hi that belong to the instruction
	inst     *inst  // nil: the bytes, up to 15, are no instruction
}

// is reports whether the bytes at a begin with those of the entry. Bytes after the
// instruction don't matter, so a store to them causes no new decoding. If the bytes are no
// instruction, all of them are compared.
func (e *decoded) is(a arch.Addr, lo, hi uint64) bool {
	return e.at == a && e.hi>>56 <= hi>>56 && (lo^e.lo)&e.mlo|(hi^e.hi)&e.mhi == 0
}

const memoBits = 10

// memo is a two-way cache. A third entry in the same slot falls back to the lookup by all
// bytes (Text.windows), because a slot may see several instructions at one address in turn.
type memo [1 << memoBits][2]*decoded

// A window is up to 15 bytes of text, packed, and where they stand.
type window struct {
	at     arch.Addr
	lo, hi uint64
}

// mostWindows is how many windows are remembered. When there are more, all are forgotten.
const mostWindows = 1 << 14

// at returns the slot for an address and first byte, which every instruction has.
func (d *memo) at(a arch.Addr, lo uint64) *[2]*decoded {
	h := (uint64(a)<<8 | lo&0xff) * 0x9e3779b97f4a7c15
	return &d[h>>(64-memoBits)]
}

// Text is what CPUs fetch: the model of which bytes they see, and the decoding of those.
type Text struct {
	m       *Machine
	model   *fetch.Text
	fenv    fetchEnv
	memo    *memo
	windows map[window]*decoded // entries that the memo has had
	decoded uint64              // how often bytes had to be decoded
	fbuf    [maxLen]byte        // what a fetch reads into
	fill    [pageSize]byte      // a page of code that is written at run time, as it is mapped
	patches *patches            // by aliases; nil: there are none
}

// Text returns the machine's text.
func (m *Machine) Text() *Text { return &m.text }

func (tx *Text) init(m *Machine) {
	tx.m, tx.fenv.m = m, m
	tx.model = fetch.NewText(m.cfg.Fetch, m.cfg.CPUs, m.arch.FetchUnit[m.cfg.Fetch])
	for i := 0; i < pageSize; i += chunk {
		binary.LittleEndian.PutUint64(tx.fill[i:], m.arch.Fill)
	}
	tx.memo, tx.windows = new(memo), make(map[window]*decoded)
}

// decode looks the bytes at a up in the memo.
func (tx *Text) decode(a arch.Addr, lo, hi uint64) *decoded {
	way := tx.memo.at(a, lo)
	for _, e := range way {
		if e != nil && e.is(a, lo, hi) {
			return e
		}
	}
	w := window{a, lo, hi}
	e := tx.windows[w]
	if e == nil {
		e = tx.decodeAnew(a, lo, hi)
		if len(tx.windows) == mostWindows {
			clear(tx.windows)
		}
		tx.windows[w] = e
	}
	way[0], way[1] = e, way[0]
	return e
}

func (tx *Text) decodeAnew(a arch.Addr, lo, hi uint64) *decoded {
	e := &decoded{at: a, lo: lo, hi: hi, mlo: ^uint64(0), mhi: ^uint64(0)}
	tx.decoded++
	b, n := traces.UnpackBytes(lo, hi)
	if d, err := tx.m.arch.Decode(b[:n], a); err == nil {
		in := d.Operation()
		e.inst = in
		e.lo, e.hi = cut(lo, hi, int(in.Len))
		e.mlo, e.mhi = cut(^uint64(0), 1<<56-1, int(in.Len))
		e.mhi &= 1<<56 - 1
	}
	return e
}

// pack is traces.PackBytes of the first 15 bytes of b, at once if there are more.
func pack(b []byte) (lo, hi uint64) {
	if len(b) < 16 {
		return traces.PackBytes(b[:min(len(b), 15)])
	}
	return binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])<<8>>8 | 15<<56
}

// cut returns the first n of packed bytes, packed.
func cut(lo, hi uint64, n int) (uint64, uint64) {
	if n <= 8 {
		return lo & (1<<(8*n) - 1), uint64(n) << 56
	}
	return lo, hi&(1<<(8*(n-8))-1) | uint64(n)<<56
}

// onText returns the mover's CPU if the mover is a CPU whose next step is guest text, else nil.
func (m *Machine) onText(mv sim.Mover) *CPU {
	if int(mv) < len(m.cpus.list) {
		if c := &m.cpus.list[mv]; c.guest {
			return c
		}
	}
	return nil
}

// fetchOn is the fast fetch of the next instruction from a page that is watched throughout.
// It needs the CPU to have been in that page before, the last decoded bytes to be unchanged,
// and no question to be due. nil: use fetchSlow; nothing has been done.
func (tx *Text) fetchOn(c *CPU) *inst {
	m := tx.m
	p, off := c.page, c.regs.IP-c.codeAt
	if c.code != m.mem.noCode || off > pageSize-16 || p == nil || p.lately == nil || m.turns.p.N > 1 &&
		m.turns.outlasts&sim.Through == 0 || tx.model.MayBeStale(int(c.id)) || p.landmarks != nil {
		return nil
	}
	e := p.lately[off]
	if e == nil || e.inst == nil {
		return nil
	}
	if lo, hi := pack(p.data[off:]); !e.is(c.regs.IP, lo, hi) {
		return nil
	}
	m.time.bringText(c, c.regs.IP, int(e.inst.Len), false)
	m.emit(c, smpev.Exec, uint64(c.regs.IP), e.lo, e.hi)
	return e.inst
}

// fetchSlow is the general fetch; only unwatched text that was decoded before doesn't need
// it. It decodes, asks which bytes the CPU sees if text was stored to, and enters kernel
// routines that text calls. nil: there is nothing to execute now.
func (tx *Text) fetchSlow(c *CPU) *inst {
	m := tx.m
	ip := c.regs.IP
	p := c.page
	if ip-c.codeAt >= pageSize || p == nil { // another page than last time
		if tx.patches != nil && tx.storeRest(c) {
			return nil
		}
		p = m.mem.page(ip)
		if p == nil || p.perm&PermExec == 0 {
			m.foot.touchFetch(ip, 1) // it may have been there
			m.traps.pageFault(c, ip, ip)
			return nil
		}
		if p.gate {
			m.gates.enter(c, ip)
			return nil
		}
		c.codeAt, c.page, c.code = p.at, p, p.code
		if in := p.code[ip%pageSize]; in != nil {
			return in
		}
	}

	lo, hi := tx.peek(p, ip)
	if tx.model.MayBeStale(int(c.id)) && m.mem.Watched(ip, int(hi>>56)) {
		n := tx.model.Fetch(int(c.id), uint64(ip), &tx.fbuf, tx.env(c))
		lo, hi = traces.PackBytes(tx.fbuf[:n])
	}
	if p.lately == nil {
		p.lately = latelyPages.Get().(*[pageSize]*decoded)
		m.mem.fetched = append(m.mem.fetched, p)
	}
	e := p.lately[ip%pageSize]
	if e == nil || !e.is(ip, lo, hi) {
		e = tx.decode(ip, lo, hi)
		p.lately[ip%pageSize] = e
	}
	in, n := e.inst, int(e.hi>>56)
	m.foot.touchFetch(ip, n)
	if p.watchesOne(ip%pageSize, n) || ip%pageSize+arch.Addr(n) > pageSize && m.mem.Watched(ip, n) {
		lo, hi = e.lo, e.hi
		m.time.bringText(c, ip, n, false)
		m.emit(c, smpev.Exec, uint64(ip), lo, hi)
		if m.log.Found != nil {
			return nil // the bytes are a finding: they are not executed
		}
	} else if in != nil && !slices.Contains(p.landmarks, ip) {
		p.code[ip%pageSize] = in
	}
	if slices.Contains(p.landmarks, ip) {
		m.log.Tell(smpev.Arrives, c.id, uint8(c.task.ID), uint64(ip), uint64(m.arch.StackPointer(&c.regs)), 0)
	}
	if in == nil {
		b, n := traces.UnpackBytes(lo, hi)
		m.ending.undecodable(c, ip, b[:n])
	}
	return in
}

// peek returns the 15 bytes at a, in p, that an instruction there may have, or as many of
// them as are text.
func (tx *Text) peek(p *page, a arch.Addr) (lo, hi uint64) {
	if off := a % pageSize; off <= pageSize-16 {
		return pack(p.data[off:])
	}
	n := tx.m.mem.peek(a, tx.fbuf[:], PermExec)
	return pack(tx.fbuf[:n])
}

// Decode decodes in the machine's mode, remembered for the machine's life by address and bytes.
// The instruction is shared: it is not to be changed.
func (tx *Text) Decode(b []byte, at arch.Addr) (arch.Inst, error) {
	lo, hi := pack(b)
	if in := tx.decode(at, lo, hi).inst; in != nil {
		return in.Inst, nil
	}
	_, err := tx.m.arch.Decode(b, at)
	return nil, err
}

// Decoded returns how often bytes were decoded in the machine's life: once for
// each version of what is executed, unless the memo had to forget one.
func (tx *Text) Decoded() uint64 { return tx.decoded }

// Executed reports whether, in the machine's life, an instruction that begins at a was
// executed or about to be executed.
func (m *Memory) Executed(a arch.Addr) bool {
	p := m.page(a)
	return p != nil && p.lately != nil && p.lately[a%pageSize] != nil
}

// Forget makes Executed(a) false until an instruction that begins at a is executed again. It
// doesn't change what the machine does.
func (m *Memory) Forget(a arch.Addr) {
	p := m.page(a)
	if p == nil || p.lately == nil {
		return
	}
	p.lately[a%pageSize] = nil
	if p.code != nil && p.code != m.noCode {
		p.code[a%pageSize] = nil // else the instruction would run without updating lately
	}
}

// watches reports whether any of the n bytes at off in a page of text is watched. Bytes
// beyond the page don't count.
func (p *page) watches(off arch.Addr, n int) bool {
	for at, end := off/chunk, min(off+arch.Addr(n), pageSize); at*chunk < end; at++ {
		if p.watched[at] {
			return true
		}
	}
	return false
}

// watchesOne is watches for at most the bytes of an instruction, which span at most three
// chunks.
func (p *page) watchesOne(off arch.Addr, n int) bool {
	first, last := off/chunk, min(off+arch.Addr(n)-1, pageSize-1)/chunk
	return p.watched[first] || p.watched[last] || p.watched[(first+last)/2]
}

// Watched reports whether one of the n bytes at a is watched.
func (m *Memory) Watched(a arch.Addr, n int) bool {
	if p := m.page(a); a%pageSize+arch.Addr(n) <= pageSize { // mostly
		return p != nil && p.code != nil && p.watches(a%pageSize, n)
	}
	for at, end := a&^(chunk-1), a+arch.Addr(n); at < end; at += chunk {
		if p := m.page(at); p != nil && p.code != nil && p.watched[at%pageSize/chunk] {
			return true
		}
	}
	return false
}

// Watch marks the n bytes of text at a: from now on instructions that touch
// them emit Exec and are fetched through the model.
func (m *Memory) Watch(a arch.Addr, n int) {
	for at, end := a&^(chunk-1), a+arch.Addr(n); at < end; at += chunk {
		p := m.page(at)
		if p.watched[at%pageSize/chunk] {
			continue
		}
		p.watched[at%pageSize/chunk] = true
		m.watched = append(m.watched, at)
		for i := at - 14; i < at+chunk; i++ { // what was decoded from these bytes
			if q := m.page(i); q != nil && q.code != nil {
				q.code[i%pageSize] = nil
			}
		}
	}
}

// Landmark tells monitors (smpev.Arrives) of each instruction executed at a, an address of text, from now on. It is
// called between runs.
func (m *Memory) Landmark(a arch.Addr) {
	p := m.page(a)
	if slices.Contains(p.landmarks, a) {
		return
	}
	p.landmarks = append(p.landmarks, a)
	if p.code != nil {
		p.code[a%pageSize] = nil // decoded before, which is executed without a look at the landmarks
	}
}

// MapExec maps pages for code that is written at run time. They are full of breakpoints, and all bytes of
// them are watched.
func (m *Memory) MapExec(a arch.Addr, pages int) {
	for i := range pages {
		p := m.mapPage(a+arch.Addr(i*pageSize), PermRead|PermExec)
		p.data, p.boot = m.m.text.fill, &m.m.text.fill
		p.code = m.noCode
		for j := range p.watched {
			p.watched[j] = true
		}
	}
}

// BootText copies what was at a at boot into b, and returns how many bytes were
// executable then.
func (m *Memory) BootText(a arch.Addr, b []byte) (n int) {
	for n < len(b) {
		at := a + arch.Addr(n)
		p := m.page(at)
		if p == nil || p.perm&PermExec == 0 {
			break
		}
		from := p.boot[:]
		if !m.frozen {
			from = p.data[:]
		}
		n += copy(b[n:], from[uint64(at)%pageSize:])
	}
	return n
}

// unwatch takes the marks made since boot away, and forgets who has stored.
func (tx *Text) unwatch() {
	m := tx.m
	if p := tx.patches; p != nil {
		p.ahead.cpu = nil
		clear(p.rests[:])
	}
	for _, at := range m.mem.watched[m.mem.bootWatched:] {
		m.mem.page(at).watched[at%pageSize/chunk] = false
	}
	m.mem.watched = m.mem.watched[:m.mem.bootWatched]
}

// store stores the n low bytes of v, the others of which are 0, to text in
// one chunk. CPUs are not serialised.
func (tx *Text) store(c *CPU, a arch.Addr, v uint64, n int) {
	m := tx.m
	m.weak.flush(c)
	m.weak.storesText(c)
	p := m.mem.page(a)
	if p.later && p.perm == 0 {
		m.mem.storeUnmapped(c, a)
		return
	}
	m.time.bringText(c, a, n, true)
	tx.put(p, a, v, n)
	m.emit(c, smpev.TextStore, uint64(a), v, uint64(n))
}

// put stores to the page of a regardless of its permissions, because text patching writes
// through a mapping of its own.
func (tx *Text) put(p *page, a arch.Addr, v uint64, n int) {
	m := tx.m
	off := uint64(a) % pageSize
	watched := p.watched[off/chunk]
	m.foot.touchStore(a, watched)
	if !p.touched(off, uint64(n)) {
		m.mem.touch(p, off, n)
	}
	at := p.data[off&^(chunk-1):][:chunk]
	was, shift := binary.LittleEndian.Uint64(at), 8*(off%chunk)
	mask := ^uint64(0) >> (64 - 8*n)
	binary.LittleEndian.PutUint64(at, was&^(mask<<shift)|v<<shift)
	tx.model.StoreChunk(uint64(a), was>>shift&mask, v, n)
	if !watched {
		m.mem.Watch(a, n)
	}
}

// serialise makes c see the newest text from now on.
func (tx *Text) serialise(c *CPU, why uint64) {
	m := tx.m
	m.weak.flush(c)
	tx.model.Serialise(int(c.id))
	m.foot.touchFloor(c)
	m.emit(c, smpev.Serialise, why, 0, 0)
}

// fetchEnv answers the fetch model's questions about the machine, for one CPU.
type fetchEnv struct {
	m *Machine
	c *CPU
}

func (tx *Text) env(c *CPU) *fetchEnv {
	tx.fenv.c = c
	return &tx.fenv
}

// Newest implements fetch.Env.
func (e *fetchEnv) Newest(a uint64, b []byte) int { return e.m.mem.peek(arch.Addr(a), b, PermExec) }

// Length implements fetch.Env.
func (e *fetchEnv) Length(a uint64, b []byte) int {
	lo, hi := pack(b)
	if in := e.m.text.decode(arch.Addr(a), lo, hi).inst; in != nil {
		return int(in.Len)
	}
	return len(b)
}

// Choose implements fetch.Env.
func (e *fetchEnv) Choose(n int) int { return e.m.turns.ask(sim.Fetch, n, e.c) }

var _ fetch.Env = (*fetchEnv)(nil)

// Link puts code at a, in text that was mapped before Freeze, as if it had been there since
// then. It is called before each run, with the same code.
func (m *Memory) Link(a arch.Addr, code []byte) {
	p, off := m.page(a), a%pageSize
	if bytes.Equal(p.boot[off:int(off)+len(code)], code) {
		return
	}
	copy(p.data[off:], code)
	image := *p.boot
	copy(image[off:], code)
	p.boot = &image
	clear(p.code[:])
}
