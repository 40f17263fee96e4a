package byhand

import (
	"bytes"

	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A Hand is what the tasks of one machine do by hand.
type Hand struct {
	k *kernel.Kernel // set at boot
	// owned by the step under way
	scratch []byte  `state:"skip: of the step under way"`
	codes   []*Code // set at boot
	texts   []*linked
	stores  kapi.Var[int] // counts the stores: what one announces depends on those before
	breaks  []*Break      // set at boot
	points  safepoints
	stops   stops
}

// linked is a function that tasks store to, as those have made it. Other patchers' breakpoints and jumps aren't in it:
// they hide where instructions begin.
type linked struct {
	in    kapi.Section // set at boot
	first []byte       // set at boot: what a run begins with
	code  []byte       // owned by the machine's hooks: changes with stores
	// owned by the machine's hooks, likewise: where a task has stored a breakpoint, how long the instruction was there
	behind []uint8
}

// New makes it, at boot.
func New(k *kernel.Kernel) *Hand {
	h := &Hand{k: k}
	h.stores.Init(&k.M.Cells, 0)
	h.points.h, h.stops.h = h, h
	return h
}

// Begin begins a run.
func (h *Hand) Begin() {
	protected := false
	for _, c := range h.codes {
		if c.now.Set(c.here); c.page != nil {
			c.page.begin()
			protected = true
		}
	}
	if protected {
		h.k.Traps.OnFault(h.fault)
	}
	for _, t := range h.texts {
		copy(t.code, t.first)
		clear(t.behind)
	}
	h.stores.Set(0)
	if len(h.breaks) > 0 {
		for _, b := range h.breaks {
			b.does.Set(Action{})
			if b.waits {
				b.here.Set(false)
			}
		}
		h.k.Traps.OnBreakpointFirst(h.breakpoint)
	}
	h.points.begin()
	h.stops.begin()
}

// AddText adds a function that tasks store to, at boot, with the code that a run begins with. One that is known already
// isn't added again.
func (h *Hand) AddText(in kapi.Section, code []byte) {
	if h.text(in.At) == nil {
		h.texts = append(h.texts, &linked{in: in, first: bytes.Clone(code), code: bytes.Clone(code),
			behind: make([]uint8, len(code))})
	}
}

// text returns the function that begins at an address, nil if no task stores to it.
func (h *Hand) text(at arch.Addr) *linked {
	for _, t := range h.texts {
		if t.in.At == at {
			return t
		}
	}
	return nil
}

// Write stores b at addr, which lies in the function f, in stores of by bytes: 1, 2, 4, 8 or 16; 0: as memcpy does.
func (h *Hand) Write(x *smp.Ctx, f kapi.Section, addr arch.Addr, b []byte, by int) {
	h.announce(x, f, addr, b)
	h.written(x, addr, b, false)
	if by == 0 {
		x.Text().Write(addr, b)
	} else {
		x.Text().WriteBy(addr, b, by)
	}
	h.k.Shares(x, addr, len(b), kapi.SiteByHand, true)
	h.written(x, addr, b, true)
}

// WriteStopped is Write while the machine is stopped. Context: may sleep.
func (h *Hand) WriteStopped(x *smp.Ctx, f kapi.Section, addr arch.Addr, b []byte, by int) {
	h.k.Stop.Machine(x, func(x kapi.Context) { h.Write(x.(*smp.Ctx), f, addr, b, by) })
}

// Exchange stores b at addr, at once, if old stands there, and reports whether it did.
func (h *Hand) Exchange(x *smp.Ctx, f kapi.Section, addr arch.Addr, old, b []byte) bool {
	var was [16]byte
	there := h.text(f.At).code[addr-f.At:][:len(b)]
	copy(was[:], there)
	h.announce(x, f, addr, b)
	h.written(x, addr, b, false)
	ok := x.Text().Exchange(addr, old, b)
	h.k.Shares(x, addr, len(b), kapi.SiteByHand, false)
	if ok {
		h.k.Shares(x, addr, len(b), kapi.SiteByHand, true)
	} else {
		copy(there, was[:])
		b = h.Read(x, addr, len(b))
	}
	h.written(x, addr, b, true)
	return ok
}

// Read returns n bytes of text at addr as they are now, zeros where there is none, valid until the task's next step
// (point).
func (h *Hand) Read(x *smp.Ctx, addr arch.Addr, n int) []byte {
	b := h.room(n)
	clear(b)
	x.Text().Read(addr, b)
	h.k.Shares(x, addr, n, kapi.SiteByHand, false)
	return b
}

// Save copies n bytes of text to data, as they are now (point).
func (h *Hand) Save(x *smp.Ctx, addr, data arch.Addr, n int) {
	for i, v := range h.Read(x, addr, n) {
		x.Memory().Store(data+arch.Addr(i), 1, uint64(v))
	}
}

// room returns n bytes for the step under way.
func (h *Hand) room(n int) []byte {
	if cap(h.scratch) < n {
		h.scratch = make([]byte, n)
	}
	return h.scratch[:n]
}

// touch counts a store.
func (h *Hand) touch() {
	h.k.M.Footprint().TouchCell(h.stores.ID(), true)
	h.stores.Overwrite(h.stores.Peek() + 1)
}

// announce reports which instructions the text of f will have once b stands at addr: those that have one of its
// bytes. Behind a breakpoint they are none: the bytes after it aren't run before it is replaced.
func (h *Hand) announce(x *smp.Ctx, f kapi.Section, addr arch.Addr, b []byte) {
	if x.Text().Read(f.At, h.room(f.Size)) != f.Size {
		return // the store will fault, or has nothing to tell
	}
	h.touch()
	t := h.text(f.At)
	t.store(h, addr, b)
	for at, end := f.At, addr+arch.Addr(len(b)); at < end; {
		n, in := t.insn(h, at)
		switch size := h.k.M.Arch().BreakLen(arch.Word(t.code[at-f.At:])); {
		case size > 0 && n > size && at+arch.Addr(size) == addr:
			return
		case size > 0 && in == 0 && at >= addr:
			in = size
		}
		if in > 0 && at+arch.Addr(in) > addr {
			lo, hi := traces.PackBytes(t.code[at-f.At:][:in])
			x.Emit(smpev.Image, uint64(at), lo, hi)
		}
		if row, code := h.k.M.Arch(), t.code[at-f.At:]; in > 0 && in < row.BranchLen && row.BranchLen <= len(code) {
			w := arch.Word(code)
			if at+arch.Addr(row.BranchLen) > addr && (row.IsJump.Match(w) || row.IsCall.Match(w)) {
				lo, hi := traces.PackBytes(code[:row.BranchLen])
				x.Emit(smpev.Image, uint64(at), lo, hi)
			}
		}
		at += arch.Addr(n)
	}
}

// insn returns how far it is from an instruction to the next one, and its size; 0: a task has stored a breakpoint
// there, or it isn't one.
func (t *linked) insn(h *Hand, at arch.Addr) (n, size int) {
	code := t.code[at-t.in.At:]
	if n := t.behind[at-t.in.At]; n > 0 {
		return int(n), 0
	}
	in, err := h.k.Text.Decode(code[:min(len(code), h.k.M.Arch().MaxLen)], at)
	if err != nil {
		return h.k.M.Arch().Align, 0
	}
	return in.Size(), in.Size()
}

// isBreak reports whether code begins with a breakpoint.
func (h *Hand) isBreak(code []byte) bool { return h.k.M.Arch().IsBreakpoint(arch.Word(code)) }

// store makes b stand at addr. Behind a breakpoint that it puts at an instruction the others begin where they did.
func (t *linked) store(h *Hand, addr arch.Addr, b []byte) {
	from, end := addr-t.in.At, addr-t.in.At+arch.Addr(len(b))
	for at := arch.Addr(0); at < end; {
		n, _ := t.insn(h, t.in.At+at)
		if at >= from && h.isBreak(b[at-from:]) && !h.isBreak(t.code[at:]) {
			t.behind[at] = uint8(n)
		}
		at += arch.Addr(n)
	}
	for i := range b {
		if !h.isBreak(b[i:]) {
			t.behind[from+arch.Addr(i)] = 0
		}
	}
	copy(t.code[from:], b)
}

// Serialise makes this CPU serialise.
func (h *Hand) Serialise(x *smp.Ctx) {
	x.Step("serialise", 0)
	x.SyncCore(smpev.SyncSelf)
}
