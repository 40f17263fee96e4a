package byhand

import (
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A Hand is what the tasks of one machine do by hand.
type Hand struct {
	k *kernel.Kernel // set at boot
	// owned by the step under way
	scratch []byte   `state:"skip: of the step under way"`
	codes   []*Code  // set at boot
	breaks  []*Break // set at boot
	points  safepoints
	stops   stops
}

// New makes it, at boot.
func New(k *kernel.Kernel) *Hand {
	h := &Hand{k: k}
	h.points.h, h.stops.h = h, h
	return h
}

// Begin begins a run.
func (h *Hand) Begin() {
	for _, c := range h.codes {
		c.now.Set(c.here)
	}
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

// Exchange stores b at addr, at once, if old stands there, and reports whether it did.
func (h *Hand) Exchange(x *smp.Ctx, f kapi.Section, addr arch.Addr, old, b []byte) bool {
	h.announce(x, f, addr, b)
	h.written(x, addr, b, false)
	ok := x.Text().Exchange(addr, old, b)
	h.k.Shares(x, addr, len(b), kapi.SiteByHand, false)
	if ok {
		h.k.Shares(x, addr, len(b), kapi.SiteByHand, true)
	} else {
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

// announce reports which instructions the text of f will have once b stands at addr: those that have one of its
// bytes. Behind a breakpoint they are none: the bytes after it aren't run before it is replaced.
func (h *Hand) announce(x *smp.Ctx, f kapi.Section, addr arch.Addr, b []byte) {
	text := h.room(f.Size)
	if x.Text().Read(f.At, text) != f.Size {
		return // the store will fault, or has nothing to tell
	}
	copy(text[addr-f.At:], b)
	end := addr + arch.Addr(len(b))
	for at := f.At; at < end; {
		n, code := 1, text[at-f.At:]
		if in, err := h.k.Text.Decode(code[:min(len(code), target.Arch.MaxLen)], at); err == nil {
			n = in.Size()
			if at+arch.Addr(n) > addr {
				lo, hi := traces.PackBytes(code[:n])
				x.Emit(smpev.Image, uint64(at), lo, hi)
			}
		}
		if at < addr && at+arch.Addr(n) == addr && target.Arch.IsBreakpoint(code[0]) {
			return
		}
		at += arch.Addr(n)
	}
}

// Serialise makes this CPU serialise.
func (h *Hand) Serialise(x *smp.Ctx) {
	x.Step("serialise", 0)
	x.SyncCore(smpev.SyncSelf)
}
