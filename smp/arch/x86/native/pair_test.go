package native

import (
	"bytes"
	"fmt"
	"strings"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// A rival executes what Exec is compared with.
type rival interface {
	// pad returns code that, at a, notes that it was reached and comes back.
	pad(mode x86.Mode, a arch.Addr) []byte
	// pages are the rival's own: data, stack, low.
	pages() [3]*[pageSize]byte
	// run runs what is in the text. Of an exception IP is as the processor reports it.
	run(p *program, s *arch.Regs) ending
}

// A pair is Exec and its rival, with the same memory. Without a rival only what
// was recorded can be compared.
type pair struct {
	g     *guest
	rival rival
	pages [3]*[pageSize]byte
	mode  x86.Mode
	amd   bool // so is the rival
	ready bool
}

func newPair(text *[textSize]byte, r rival) *pair {
	h := &pair{g: newGuest(text), rival: r, amd: hostIsAMD()}
	if r != nil {
		h.pages = r.pages()
		for i := range h.pages {
			*h.pages[i] = h.g.pristine[i]
		}
	}
	return h
}

// pad makes a place in the text one where code may arrive.
func (h *pair) pad(a arch.Addr) {
	b := bytes.Repeat([]byte{0x90}, padSize)
	if h.rival != nil {
		copy(b, h.rival.pad(h.mode, a))
	}
	h.g.write(a, b)
}

// load puts a program into the text, with pads where it may come out.
func (h *pair) load(p *program) {
	g := h.g
	if !h.ready || h.mode != p.mode {
		h.ready, h.mode = true, p.mode
		g.clearText(true)
		for i := range arch.Addr(farPadCount) {
			h.pad(farPads + i*padSize)
		}
		g.dirty = g.dirty[:0] // these stay
	}
	g.clearText(false)
	g.write(codeAt, p.code)
	h.pad(codeAt + arch.Addr(len(p.code)))
	for i := range p.insts {
		if a, ok := p.insts[i].Target(); ok && a >= textAt && a <= farPads-padSize && g.free(a) {
			h.pad(a)
		}
	}
}

// try runs a trial on both and returns what differs, "" if nothing does. ran is
// false if it was dropped: ours.dropped says why. digest, if it isn't nil, takes
// in how it ended.
func (h *pair) try(p *program, t *trial, ours *ending, digest *digest) (diff string, ran bool) {
	g := h.g
	g.stores = g.stores[:0]
	for _, k := range t.pokes {
		g.Store(k.at, 8, k.v)
	}
	if h.rival != nil {
		for _, s := range g.stores {
			n, off := g.page(s.at, s.n)
			copy(h.pages[n][off:int(off)+s.n], g.memory[n][off:])
		}
	}
	g.interpret(p, t.s, ours)
	if g.astray && ours.dropped == "" {
		ours.dropped = "asks for its text"
	}
	if ran = ours.dropped == ""; ran && h.rival != nil && (h.amd || !ours.onlyAMD) &&
		!(ours.overlap && hostLosesOverlaps()) {
		theirs := h.rival.run(p, &t.s)
		theirs.arrive(g, len(p.code))
		if diff = h.differs(p, ours, &theirs); diff != "" {
			diff = describe(p, t) + diff
		}
	}
	if ran && digest != nil {
		digest.take(g, ours)
	}
	h.undo(diff != "")
	return diff, ran
}

// undo makes memory what it was, on both sides: where ours stored, or all of it.
func (h *pair) undo(all bool) {
	g := h.g
	if all {
		g.memory = g.pristine
		for i := range h.pages {
			*h.pages[i] = g.pristine[i]
		}
		return
	}
	for _, s := range g.stores {
		n, off := g.page(s.at, s.n)
		was := g.pristine[n][off : int(off)+s.n]
		copy(g.memory[n][off:], was)
		if h.rival != nil {
			copy(h.pages[n][off:], was)
		}
	}
}

// arrive makes of a breakpoint where there is no code, and of a page fault at the
// target of a jump, what it is: control has left the code.
func (e *ending) arrive(g *guest, length int) {
	ip := e.s.IP
	switch {
	case e.trap == vectorBP && ip-1-textAt < textSize && g.text[ip-1-textAt] == filler &&
		ip-1-codeAt >= arch.Addr(length):
		e.s.IP, e.trap = ip-1, -1
	case e.trap == vectorPF && uint64(ip) == e.cr2 && ip-codeAt >= arch.Addr(length):
		e.trap = -1
	}
}

// differs compares how it ended: registers, IP, defined flags, the exception,
// where a page fault was, and all memory.
func (h *pair) differs(p *program, ours, theirs *ending) string {
	var b strings.Builder
	tell := func(format string, args ...any) { fmt.Fprintf(&b, "\n\t"+format, args...) }
	if ours.trap == vectorPF && ours.cr2>>47 != 0 && (theirs.trap == vectorGP || theirs.trap == vectorSS) {
		theirs.trap, theirs.cr2 = vectorPF, ours.cr2 // what the machine makes of it: see x86.PageFault
	}
	last := p.at0(ours.s.IP)
	theirs.forgive(last, ours)
	if ours.trap != theirs.trap {
		tell("exception %d, the processor has %d", ours.trap, theirs.trap)
	}
	if ours.trap == vectorPF && theirs.trap == vectorPF && ours.cr2 != theirs.cr2 && !faultsAnywhere(last) {
		tell("fault at %#x, the processor has %#x", ours.cr2, theirs.cr2)
	}
	if ours.s.IP != theirs.s.IP {
		tell("ip %#x, the processor has %#x", ours.s.IP, theirs.s.IP)
	}
	if p.mode == x86.Mode32 {
		for i := range theirs.s.R[:x86.AMD64.Used] {
			theirs.s.R[i] &= 0xffff_ffff
		}
		clear(theirs.s.R[8:])
	} else if ours.fs != theirs.fs || ours.gs != theirs.gs {
		tell("bases %#x %#x, the processor has %#x %#x", ours.fs, ours.gs, theirs.fs, theirs.gs)
	}
	if ours.s.R != theirs.s.R {
		for i, v := range ours.s.R[:x86.AMD64.Used] {
			if v != theirs.s.R[i] {
				tell("r%d %#x, the processor has %#x", i, v, theirs.s.R[i])
			}
		}
	}
	if d := (ours.s.Flags ^ theirs.s.Flags) & (arith | x86.DF) &^ ours.undefined; d != 0 {
		tell("flags %s, the processor has %s, different: %s",
			flagNames(ours.s.Flags), flagNames(theirs.s.Flags), flagNames(d))
	}
	for i := range h.pages {
		if !bytes.Equal(h.g.memory[i][:], h.pages[i][:]) && !(ours.trap == vectorPF && writesBeforeFault(last)) {
			for off, x := range h.g.memory[i] {
				if y := h.pages[i][off]; x != y && b.Len() < 1500 {
					tell("%s+%#x holds %02x, the processor has %02x", [3]string{"data", "stack", "low"}[i], off, x, y)
				}
			}
		}
	}
	if b.Len() == 0 && ours.trap == vectorPF && writesBeforeFault(last) {
		for i := range h.pages {
			*h.pages[i] = h.g.memory[i]
		}
	}
	return b.String()
}

// at0 returns the instruction that begins at an address.
func (p *program) at0(a arch.Addr) *x86.Inst {
	if off := a - codeAt; off < arch.Addr(len(p.code)) && p.at[off] > 0 {
		return &p.insts[p.at[off]-1]
	}
	return nil
}

// A digest is a number for how many trials ended.
type digest uint64

func (d *digest) add(v uint64) {
	x := uint64(*d) ^ v
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	*d = digest(x ^ x>>32)
}

// take adds what differs compares.
func (d *digest) take(g *guest, e *ending) {
	for _, v := range e.s.R[:x86.AMD64.Used] {
		d.add(v)
	}
	d.add(uint64(e.s.IP))
	d.add(e.s.Flags & (arith | x86.DF) &^ e.undefined)
	d.add(uint64(e.trap))
	if e.trap == vectorPF {
		d.add(e.cr2)
	}
	d.add(e.fs)
	d.add(e.gs)
	for n := range g.memory {
		for off := 0; off < pageSize; off += 8 {
			if v := little(g.memory[n][off:], 8); v != little(g.pristine[n][off:], 8) {
				d.add(uint64(n*pageSize + off))
				d.add(v)
			}
		}
	}
}
