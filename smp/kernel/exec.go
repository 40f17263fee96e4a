package kernel

import (
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// ExecMem hands out executable memory within reach of a rel32 from text, in one of two ways. It implements kapi.Exec.
//
// As an arena: the memory freed last is handed out first, and retiring is freeing. So code that still runs in freed
// memory is noticed.
//
// As the kernel's insn caches do (kapi.Memory.Slot; study of kernels, 1.1): each kind has a mutex and its own pages,
// cut into slots, and the first clean slot is handed out. A retired slot is dirty. Dirty slots are collected after a
// grace period, all at once: when more have become dirty since the last time than a page has slots, in whichever
// pages, or when no clean one is left. A page whose last slot has become clean is unmapped, unless it is the only
// one; the address isn't used again in the run. Only the cache's mutex is taken: freeing memory doesn't wait for a
// lock of the engine's (__unregister_kprobe_bottom, 2.6.30 and later).
type ExecMem struct {
	k      *Kernel
	mapped arch.Addr     // owned by lists or mutex: the end of the mapped pages
	next   arch.Addr     // owned by lists or mutex: the arena's first unused address
	kinds  []kapi.Memory // set at boot: by number
	free   [][]arch.Addr // owned by lists: the arena's free memory, by kind
	lists  kapi.Var[int] // stands for the arena's lists
	caches []insnCache   // owned by the mutex of each: by kind

	// NoGrace lets the collector take slots without a grace period. It is a mutant's.
	NoGrace bool // set at boot

	// Unlocked makes a task that frees memory to the arena overwrite a concurrent change of the free list. It is a
	// mutant's.
	Unlocked bool // set at boot

	// Misnumbered makes a freed slot of a cache land at the wrong place of its page, as if slots had a quarter of
	// their size. It is a mutant's.
	Misnumbered bool // set at boot
}

// execLists orders the lock of the arena's lists, taken and released in one step.
var execLists = kapi.DefineBarrier("exec: take the lists", kapi.OrderFull,
	"alloc_vmap_area, free_vmap_area, mm/vmalloc.c: spin_lock(&vmap_area_lock)")

// An insnCache is the pages of one kind.
type insnCache struct {
	size  int        // of a slot; owned by the boot; 0: there are no caches
	mutex *Mutex     // set at boot
	pages []insnPage // owned by mutex: the newest last
	dirty int        // owned by mutex: since the last collection
}

// An insnPage is cut into slots.
type insnPage struct {
	at    arch.Addr   // owned by mutex
	slots []insnState // owned by mutex
	clean int         // owned by mutex: how many are
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
)

// execNear is how many pages there are in text (OPT_SLOT_SIZE of powerpc, and as much again for slots, which it
// takes from modules' memory).
const execNear = 32

// ExecRange returns where a kernel hands out executable memory.
func ExecRange(a *arch.Arch) (from, to arch.Addr) {
	if a.NearExec {
		return smp.NearBase, smp.NearBase + execNear*pageSize
	}
	from = a.Addr(smp.ExecBase)
	return from, from + execMost*pageSize
}

func (e *ExecMem) init(k *Kernel) {
	e.k = k
	e.lists.Init(&k.M.Cells, 0)
	base, _ := ExecRange(k.M.Arch())
	k.M.Names().AddSymbol("slots", base, execPages*pageSize)
	for _, kind := range k.cfg.Exec {
		for uint64(len(e.kinds)) <= kind.What {
			e.kinds, e.free, e.caches = append(e.kinds, kapi.Memory{}), append(e.free, nil),
				append(e.caches, insnCache{})
		}
		e.kinds[kind.What] = kind
		if kind.Slot > 0 {
			c := &e.caches[kind.What]
			c.size, c.mutex = kind.Slot, k.Locks.bootMutex(kind.Mutex)
		}
	}
	if !e.caching() {
		k.M.Memory().MapExec(base, execPages)
	}
	e.reset()
}

// caching reports whether all memory comes from caches.
func (e *ExecMem) caching() bool {
	for i := range e.k.cfg.Exec {
		if e.k.cfg.Exec[i].Slot == 0 {
			return false
		}
	}
	return len(e.k.cfg.Exec) > 0
}

func (e *ExecMem) reset() {
	base, _ := ExecRange(e.k.M.Arch())
	e.mapped, e.next, e.NoGrace, e.Unlocked, e.Misnumbered = base, base, false, false, false
	if !e.caching() {
		e.mapped += execPages * pageSize
	}
	for i := range e.free {
		e.free[i] = e.free[i][:0]
		e.caches[i].pages, e.caches[i].dirty = e.caches[i].pages[:0], 0
	}
}

// Alloc implements kapi.Exec. Context: may sleep.
func (e *ExecMem) Alloc(x kapi.Context, size int, what uint64) (at arch.Addr, ok bool) {
	x.Step(e.kinds[what].Alloc, int(what))
	c := &e.caches[what]
	if c.size > 0 {
		c.mutex.Lock(x)
		at, ok = e.allocSlot(x, c, size, what)
		size = c.size // the whole slot, whatever size was requested
	} else {
		at, ok = e.allocArena(x, size, what)
	}
	if ok {
		x.Emit(smpev.Alloc, uint64(at), uint64(size), what)
	}
	if c.size > 0 {
		c.mutex.Unlock(x)
	}
	return at, ok
}

// Free implements kapi.Exec. Context: may sleep.
func (e *ExecMem) Free(x kapi.Context, addr arch.Addr, size int, what uint64) {
	c := &e.caches[what]
	if c.size > 0 {
		c.mutex.Lock(x)
		i := c.page(addr)
		e.clean(x, c, i, addr, what)
		e.unmap(x, c, i, what)
		c.mutex.Unlock(x)
		return
	}
	e.lists.Change(x, execLists)
	x.Emit(smpev.Free, uint64(addr), uint64(size), what)
	ctxOf(x).Text().Poison(addr, size)
	if e.Unlocked {
		n := len(e.free[what])
		e.lists.RMW(x, execLists)
		e.free[what] = e.free[what][:n] // undoes concurrent allocations
	}
	e.free[what] = append(e.free[what], addr)
}

// clean frees a slot of page i. Context: the cache's mutex held.
func (e *ExecMem) clean(x kapi.Context, c *insnCache, i int, addr arch.Addr, what uint64) {
	x.Emit(smpev.Free, uint64(addr), uint64(c.size), what)
	ctxOf(x).Text().Poison(addr, c.size)
	p := &c.pages[i]
	p.slots[e.number(c, p, addr)] = insnClean
	p.clean++
}

// number is a slot's place in its page.
func (e *ExecMem) number(c *insnCache, p *insnPage, addr arch.Addr) int {
	n := int(addr-p.at) / c.size
	if e.Misnumbered {
		return 4 * n % len(p.slots)
	}
	return n
}

// unmap unmaps page i if all its slots are clean and it isn't the only page.
//
//	step 1: wait: another task may be looking up the page of an address (4.12 and later)
//	step 2: unmap it: a CPU that runs there takes a page fault
//
// Context: the cache's mutex held; may sleep.
func (e *ExecMem) unmap(x kapi.Context, c *insnCache, i int, what uint64) {
	p := c.pages[i]
	if p.clean < len(p.slots) || len(c.pages) == 1 {
		return
	}
	if e.k.cfg.PageGrace && !e.NoGrace {
		x.Step(e.kinds[what].Unmap, 1)
		e.k.RCU.Synchronize(x, kapi.QuiesceRCU)
	}

	x.Step(e.kinds[what].Unmap, 2)
	ctxOf(x).Pages().Unmap(p.at, 1)
	last := len(c.pages) - 1
	copy(c.pages[i:], c.pages[i+1:])
	c.pages[last] = p // keeps its slots' memory for the next page
	c.pages = c.pages[:last]
}

// Retire implements kapi.Exec. Context: may sleep.
func (e *ExecMem) Retire(x kapi.Context, addr arch.Addr, size int, what uint64) {
	c := &e.caches[what]
	if c.size == 0 {
		e.Free(x, addr, size, what)
		return
	}
	c.mutex.Lock(x)
	x.Emit(smpev.Retire, uint64(addr), uint64(c.size), what)
	p := &c.pages[c.page(addr)]
	p.slots[e.number(c, p, addr)] = insnDirty
	if c.dirty++; c.dirty > pageSize/c.size {
		e.collect(x, c, what)
	}
	c.mutex.Unlock(x)
}

// allocArena hands out the memory freed last, or else new memory at the end.
func (e *ExecMem) allocArena(x kapi.Context, size int, what uint64) (arch.Addr, bool) {
	e.lists.Change(x, execLists)
	full := e.kinds[what].Most
	if size > full {
		return 0, false
	}
	if n := len(e.free[what]); n > 0 {
		at := e.free[what][n-1]
		e.free[what] = e.free[what][:n-1]
		return at, true
	}
	if e.next+arch.Addr(full) > e.mapped {
		end := e.mapped
		at, ok := e.page(x)
		if !ok {
			return 0, false
		}
		if at != end { // there is a gap
			e.next = at
		}
	}
	at := e.next
	e.next += arch.Addr(full)
	return at, true
}

// allocSlot hands out the first clean slot of the newest page that has one.
func (e *ExecMem) allocSlot(x kapi.Context, c *insnCache, size int, what uint64) (arch.Addr, bool) {
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

// take marks a clean slot as used and returns it.
func (c *insnCache) take() (arch.Addr, bool) {
	for i := len(c.pages) - 1; i >= 0; i-- {
		p := &c.pages[i]
		if p.clean == 0 {
			continue
		}
		for j, s := range p.slots {
			if s == insnClean {
				p.slots[j] = insnUsed
				p.clean--
				return p.at + arch.Addr(j*c.size), true
			}
		}
	}
	return 0, false
}

// page returns the number of a slot's page.
func (c *insnCache) page(at arch.Addr) int {
	for i := range c.pages {
		if at-c.pages[i].at < pageSize {
			return i
		}
	}
	sim.Bug("no slot was handed out at %#x", uint64(at))
	return 0
}

// addPage adds a page to a cache.
func (e *ExecMem) addPage(x kapi.Context, c *insnCache) bool {
	at, ok := e.page(x)
	if !ok {
		return false
	}
	if i := len(c.pages); i < cap(c.pages) { // reuses the slots of an earlier run
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

// page maps another page, and returns its address.
func (e *ExecMem) page(x kapi.Context) (arch.Addr, bool) {
	_, end := ExecRange(e.k.M.Arch())
	for at := e.mapped; at < end; at += pageSize {
		if ctxOf(x).Pages().MapExec(at) {
			e.mapped = at + pageSize
			return at, true
		}
	}
	return 0, false
}

// run maps adjacent pages, and returns their address. Pages that are skipped because something
// lies after them stay mapped until the run ends.
func (e *ExecMem) run(x kapi.Context, pages int) (first arch.Addr, ok bool) {
	for got, next := 0, arch.Addr(0); got < pages; got++ {
		at, ok := e.page(x)
		if !ok {
			return 0, false
		}
		if at != next {
			first, got = at, 0
		}
		next = at + pageSize
	}
	return first, true
}

// collect takes back all dirty slots of a cache.
//
//	step 1: wait: a CPU may have been interrupted in one
//	step 2: free them, and pages that are clean then
//
// Context: the cache's mutex held; may sleep.
func (e *ExecMem) collect(x kapi.Context, c *insnCache, what uint64) {
	x.Step(e.kinds[what].Collect, 1)
	if !e.NoGrace {
		e.k.RCU.Synchronize(x, kapi.QuiesceRCU)
	}

	x.Step(e.kinds[what].Collect, 2)
	for i := len(c.pages) - 1; i >= 0; i-- { // the newest first
		p := &c.pages[i]
		swept := false
		for j, s := range p.slots {
			if s == insnDirty {
				e.clean(x, c, i, p.at+arch.Addr(j*c.size), what)
				swept = true
			}
		}
		if swept {
			e.unmap(x, c, i, what)
		}
	}
	c.dirty = 0
}
