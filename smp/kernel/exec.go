package kernel

import (
	"kpsim/smp"
	"kpsim/smp/isa"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// ExecMem hands out executable memory within reach of a rel32 from text, in one
// of two ways. It implements kapi.Exec.
//
// As an arena: what was freed last is handed out first, and retiring is freeing.
// If anything still runs there, it shows.
//
// As the kernel's insn caches do (Config.InsnSlot; study of kernels, 1.1): each
// kind has pages of its own, cut into slots, of which the first clean one is
// handed out. One that is retired is dirty. Dirty ones are collected after a
// grace period: all, when there are more than a page has slots, or when no clean
// one is left. Pages are kept once they are there.
type ExecMem struct {
	k      *Kernel
	mapped isa.Addr      // owned by kprobe_mutex: up to here there are pages
	next   isa.Addr      // owned by kprobe_mutex: of the arena, behind what was handed out
	free   [3][]isa.Addr // owned by kprobe_mutex: of the arena, by what it was
	caches [3]insnCache  // owned by kprobe_mutex: by what is handed out

	// NoGrace lets the collector take slots without a grace period. It is a mutant's.
	NoGrace bool // set at boot
}

// An insnCache is the pages of one kind.
type insnCache struct {
	size  int        // of a slot; owned by the boot; 0: there are no caches
	pages []insnPage // owned by kprobe_mutex: the newest last
	dirty int        // owned by kprobe_mutex
}

// An insnPage is cut into slots.
type insnPage struct {
	at    isa.Addr    // owned by kprobe_mutex
	slots []insnState // owned by kprobe_mutex
	clean int         // owned by kprobe_mutex: how many are
}

type insnState uint8

const (
	insnClean insnState = iota
	insnDirty           // retired, not yet collected
	insnUsed
)

const (
	execPages = 4       // mapped at boot
	execMost  = 1 << 14 // pages, all in all: 64 MiB
	slotSize  = 32      // of a SlotMem in the arena: 15 bytes of instruction and a way back
	detourMax = 256     // of a DetourMem
)

var execSizes = [3]int{kapi.SlotMem: slotSize, kapi.DetourMem: detourMax}

// ExecRange returns where executable memory is handed out.
func ExecRange() (from, to isa.Addr) { return smp.ExecBase, smp.ExecBase + execMost*pageSize }

func (e *ExecMem) init(k *Kernel) {
	e.k = k
	k.M.MapExec(smp.ExecBase, execPages)
	k.M.AddSymbol("slots", smp.ExecBase, execPages*pageSize)
	if n := k.cfg.InsnSlot; n > 0 {
		e.caches[kapi.SlotMem].size, e.caches[kapi.DetourMem].size = n, detourMax
	}
	e.reset()
}

func (e *ExecMem) reset() {
	e.mapped, e.next, e.NoGrace = smp.ExecBase+execPages*pageSize, smp.ExecBase, false
	for i := range e.free {
		e.free[i] = e.free[i][:0]
		e.caches[i].pages, e.caches[i].dirty = e.caches[i].pages[:0], 0
	}
}

// Alloc implements kapi.Exec. Context: kprobe_mutex held; may sleep.
func (e *ExecMem) Alloc(x kapi.Context, size int, what uint64) (at isa.Addr, ok bool) {
	x.Step("alloc_insn_slot", int(what))
	if c := &e.caches[what]; c.size > 0 {
		at, ok = e.allocSlot(x, c, size, what)
		size = c.size // all of it, whatever was asked for
	} else {
		at, ok = e.allocArena(x, size, what)
	}
	if ok {
		x.Emit(smpev.Alloc, uint64(at), uint64(size), what)
	}
	return at, ok
}

// Free implements kapi.Exec. Context: kprobe_mutex held.
func (e *ExecMem) Free(x kapi.Context, addr isa.Addr, size int, what uint64) {
	c := &e.caches[what]
	if c.size > 0 {
		size = c.size
	}
	x.Emit(smpev.Free, uint64(addr), uint64(size), what)
	x.(*smp.Ctx).PoisonText(addr, size)
	if c.size > 0 {
		p, i := c.slot(addr)
		p.slots[i] = insnClean
		p.clean++
		return
	}
	e.free[what] = append(e.free[what], addr)
}

// Retire implements kapi.Exec. Context: kprobe_mutex held; may sleep.
func (e *ExecMem) Retire(x kapi.Context, addr isa.Addr, size int, what uint64) {
	c := &e.caches[what]
	if c.size == 0 {
		e.Free(x, addr, size, what)
		return
	}
	x.Emit(smpev.Retire, uint64(addr), uint64(c.size), what)
	p, i := c.slot(addr)
	p.slots[i] = insnDirty
	if c.dirty++; c.dirty > pageSize/c.size {
		e.collect(x, c, what)
	}
}

// allocArena hands out what was freed last, or what lies behind it all.
func (e *ExecMem) allocArena(x kapi.Context, size int, what uint64) (isa.Addr, bool) {
	full := execSizes[what]
	if size > full {
		return 0, false
	}
	if n := len(e.free[what]); n > 0 {
		at := e.free[what][n-1]
		e.free[what] = e.free[what][:n-1]
		return at, true
	}
	if e.next+isa.Addr(full) > e.mapped {
		end := e.mapped
		at, ok := e.page(x)
		if !ok {
			return 0, false
		}
		if at != end { // there is something in between
			e.next = at
		}
	}
	at := e.next
	e.next += isa.Addr(full)
	return at, true
}

// allocSlot hands out the first clean slot of the newest page that has one.
func (e *ExecMem) allocSlot(x kapi.Context, c *insnCache, size int, what uint64) (isa.Addr, bool) {
	if size > c.size {
		return 0, false
	}
	at, ok := c.take()
	if !ok && c.dirty > 0 {
		e.collect(x, c, what)
		at, ok = c.take()
	}
	if !ok {
		if ok = e.addPage(x, c); ok {
			at, ok = c.take()
		}
	}
	return at, ok
}

// take marks a clean slot used.
func (c *insnCache) take() (isa.Addr, bool) {
	for i := len(c.pages) - 1; i >= 0; i-- {
		p := &c.pages[i]
		if p.clean == 0 {
			continue
		}
		for j, s := range p.slots {
			if s == insnClean {
				p.slots[j] = insnUsed
				p.clean--
				return p.at + isa.Addr(j*c.size), true
			}
		}
	}
	return 0, false
}

// slot returns the page that an address lies in, and the number of its slot.
func (c *insnCache) slot(at isa.Addr) (*insnPage, int) {
	for i := range c.pages {
		if p := &c.pages[i]; at-p.at < pageSize {
			return p, int(at-p.at) / c.size
		}
	}
	return nil, 0
}

// addPage gives a cache one page more.
func (e *ExecMem) addPage(x kapi.Context, c *insnCache) bool {
	at := e.next // one of those from boot
	if at == e.mapped {
		ok := false
		if at, ok = e.page(x); !ok {
			return false
		}
	}
	e.next = at + pageSize
	if i := len(c.pages); i < cap(c.pages) { // with the slots of another run
		c.pages = c.pages[:i+1]
	} else {
		c.pages = append(c.pages, insnPage{})
	}
	p := &c.pages[len(c.pages)-1]
	n := pageSize / c.size
	if p.slots == nil {
		p.slots = make([]insnState, n)
	}
	clear(p.slots)
	p.at, p.clean = at, n
	return true
}

// page maps one page more, and returns where.
func (e *ExecMem) page(x kapi.Context) (isa.Addr, bool) {
	_, end := ExecRange()
	for at := e.mapped; at < end; at += pageSize {
		if x.(*smp.Ctx).MapExec(at) {
			e.mapped = at + pageSize
			return at, true
		}
	}
	return 0, false
}

// collect takes back all dirty slots of a cache.
//
//	step 1: wait: a CPU may have been interrupted in one
//	step 2: free them
func (e *ExecMem) collect(x kapi.Context, c *insnCache, what uint64) {
	x.Step("collect_garbage_slots", 1)
	if !e.NoGrace {
		e.k.RCU.Synchronize(x, kapi.QuiesceRCU)
	}

	x.Step("collect_garbage_slots", 2)
	for i := range c.pages {
		p := &c.pages[i]
		for j, s := range p.slots {
			if s == insnDirty {
				e.Free(x, p.at+isa.Addr(j*c.size), c.size, what)
			}
		}
	}
	c.dirty = 0
}
