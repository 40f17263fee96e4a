package linux

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/linux/linuxev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Memory handed out at boot lies in one region. Each object that a run allocates has pages of
// its own.
const (
	heapSize   = 16 << 20 // bytes, at boot
	mostObject = 1 << 20
)

// A heap holds the memory that kmalloc has handed out.
type heap struct {
	next    arch.Addr
	live    []span   // memory from boot that is in use
	objects []object // the run's objects, by address
}

// set makes h a copy of another heap, in h's own memory.
func (h *heap) set(to *heap) {
	h.next, h.live, h.objects = to.next, append(h.live[:0], to.live...), append(h.objects[:0], to.objects...)
}

// An object is memory that a run has allocated. It ends at the end of its last page, and no
// page follows, so an access past the end is a page fault. Freeing an object unmaps its
// pages, which aren't reused in the run, so an access to freed memory is a page fault too.
type object struct {
	span
	first   arch.Addr // its first page
	by      arch.Addr // the code that allocated it: the return address of kmalloc
	freed   bool
	freedBy arch.Addr
}

// pages returns how many pages the object has.
func (o *object) pages() int { return roundUp(int(o.at-o.first)+o.size, page) / page }

// Flags of an allocation (include/linux/gfp_types.h).
const (
	gfpZero          = 0x100
	gfpDirectReclaim = 0x400 // the allocation may sleep
)

// zeroSize is what kmalloc(0) returns (ZERO_SIZE_PTR).
const zeroSize = 16

// memory holds the kernel's allocations: objects of kmalloc, and slots for instructions.
type memory struct {
	*env      `state:"boot"`
	heap      heap
	allocator kapi.Var[int] // a cell that stands for all memory handed out
	code      []span        // memory handed out by module_alloc
	retired   []retired     // slots that wait to be collected
}

// renew resets the memory to its state after the boot.
func (m *memory) renew() {
	m.code, m.retired = append(m.code[:0], m.boot.code...), m.retired[:0]
	m.allocator.Init(m.d.Cells, 0)
	m.heap.set(&m.boot.heap)
}

// alloc is kmalloc(size, flags).
func (m *memory) alloc(x kapi.Context, size, flags uint64) uint64 {
	if flags&gfpDirectReclaim != 0 && m.d.Guest.Busy(x) {
		m.d.Guest.Why(x, "memory is allocated with GFP_KERNEL by "+m.named(m.caller(x)))
		x.Emit(smpev.MightSleep, 1, 0, 0)
	}
	if size == 0 {
		return zeroSize
	}
	if size > mostObject {
		return 0
	}
	x.Touch(m.allocator.ID(), kapi.Write)
	at, ok := m.take(x, int(size))
	if !ok {
		return 0
	}
	fill := uint64(poison)
	if flags&gfpZero != 0 {
		fill = 0
	}
	for off := uint64(0); off < size; off += 8 {
		x.Memory().Store(at+arch.Addr(off), 8, fill)
	}
	return uint64(at)
}

// take finds room for an object. If its size is a power of two, it is aligned to its size, up
// to a page, as by kmalloc.
func (m *memory) take(x kapi.Context, size int) (at arch.Addr, ok bool) {
	h := &m.heap
	if m.booting {
		if h.next+arch.Addr(size)+page > m.k.places.heap+heapSize {
			return 0, false
		}
		at = h.next
		h.next += arch.Addr(roundUp(size, 64) + 64)
		h.live = append(h.live, span{at, size})
		return at, true
	}
	first := m.k.places.fence
	if n := len(h.objects); n > 0 {
		last := &h.objects[n-1]
		first = last.first + arch.Addr(last.pages()+1)*page
	}
	n := roundUp(size, page)
	if first+arch.Addr(n) > m.k.places.fence+m.k.places.fenced || !m.d.Guest.MapData(x, first, n/page) {
		return 0, false
	}
	at = first + arch.Addr(n-roundUp(size, 8))
	h.objects = append(h.objects, object{span: span{at, size}, first: first, by: m.caller(x)})
	return at, true
}

// freed is the pattern that fills freed memory from boot. It is no valid address.
const freed = 0x6b6b6b6b6b6b6b6b

// free is kfree(at), called by text at an address.
func (m *memory) free(x kapi.Context, at uint64, by arch.Addr) {
	if at <= zeroSize {
		return
	}
	x.Touch(m.allocator.ID(), kapi.Write)
	h := &m.heap
	if o := h.object(arch.Addr(at)); o != nil {
		switch {
		case o.freed:
			m.misused(x, linuxev.DoubleFree, o, arch.Addr(at), "it is freed again by "+m.named(by))
		case o.at != arch.Addr(at):
			m.misused(x, linuxev.BadFree, o, arch.Addr(at), "it is freed by "+m.named(by))
		default:
			o.freed, o.freedBy = true, by
			m.e.instances.freeNodes(x, o.span)
			m.d.Guest.UnmapData(x, o.first, o.pages())
		}
		return
	}
	i := slices.IndexFunc(h.live, func(s span) bool { return s.at == arch.Addr(at) })
	if i < 0 {
		m.d.Guest.Why(x, fmt.Sprintf("%s frees what was never allocated", m.named(by)))
		x.Emit(linuxev.Heap, linuxev.BadFree, at, 0)
		return
	}
	s := h.live[i]
	h.live = append(h.live[:i], h.live[i+1:]...)
	m.e.instances.freeNodes(x, s)
	for off := 0; off < s.size; off += 8 {
		x.Memory().Store(s.at+arch.Addr(off), 8, freed)
	}
}

// object returns the run's object whose pages, or the hole after them, contain an address;
// nil if none does.
func (h *heap) object(at arch.Addr) *object {
	i, found := slices.BinarySearchFunc(h.objects, at, func(o object, at arch.Addr) int {
		switch {
		case at < o.first:
			return 1
		case at >= o.first+arch.Addr(o.pages()+1)*page:
			return -1
		}
		return 0
	})
	if !found {
		return nil
	}
	return &h.objects[i]
}

// stray reports misuse of memory for a page fault of text. The kernel dies of the fault in
// any case.
func (m *memory) stray(x kapi.Context, by arch.Addr) {
	at := m.d.Guest.Fault(x)
	probes := m.e.users.list
	if i := int(at-m.k.places.users) / userStep; at >= m.k.places.users && i < len(probes) && !probes[i].here {
		m.d.Guest.Why(x, fmt.Sprintf("byte %d of the struct of probe %d is accessed by %s, which its user "+
			"may have freed", at-probes[i].at, i, m.named(by)))
		x.Emit(linuxev.Heap, linuxev.UseAfterFree, uint64(at), 0)
		return
	}
	if i := m.e.fprobes.freed(at); i >= 0 {
		m.d.Guest.Why(x, fmt.Sprintf("byte %d of the struct of fprobe %d is accessed by %s, which its user "+
			"may have freed", at-m.e.fprobes.list[i].at, i, m.named(by)))
		x.Emit(linuxev.Heap, linuxev.UseAfterFree, uint64(at), 0)
		return
	}
	if t, ok := m.d.Guest.DeadStack(x, at); ok {
		m.d.Guest.Why(x, fmt.Sprintf("the stack of task %d below its stack pointer, where a call has returned, "+
			"is accessed by %s", t, m.named(by)))
		x.Emit(linuxev.Heap, linuxev.UseAfterFree, uint64(at), 0)
		return
	}
	if o := m.heap.object(at); o != nil {
		what := uint64(linuxev.OutOfBounds)
		if o.freed {
			what = linuxev.UseAfterFree
		}
		m.misused(x, what, o, at, "it is accessed by "+m.named(by))
	}
}

// wild checks page faults that nothing handles. It reports an access to user space by the
// kernel's own code, because no engine has an address there. The first page stands for NULL,
// which the oops reports well enough. The machine reports accesses to an unloaded module (S1).
func (m *memory) wild(x kapi.Context, by arch.Addr) {
	if at := m.d.Guest.Fault(x); at >= page && at < m.k.places.user && m.k.Closure.Function(uint64(by)) != nil {
		m.d.Guest.Why(x, fmt.Sprintf("it is an address of user space, and %s accesses it", m.named(by)))
		x.Emit(linuxev.Heap, linuxev.User, uint64(at), 0)
	}
}

// touched is called by services whose counterparts in a kernel access memory at an address
// that they get.
func (m *memory) touched(x kapi.Context, at uint64) {
	if o := m.heap.object(arch.Addr(at)); o != nil && o.freed {
		m.misused(x, linuxev.UseAfterFree, o, arch.Addr(at), "it is given away by "+m.named(m.caller(x)))
	}
}

// misused reports a misuse of memory.
func (m *memory) misused(x kapi.Context, what uint64, o *object, at arch.Addr, how string) {
	why := fmt.Sprintf("byte %d of the %d that %s has allocated", int(at)-int(o.at), o.size, m.named(o.by))
	if member := m.memberOf(o, int(at-o.at)); member != "" {
		why = member + ", " + why
	}
	if o.freed {
		why += " and " + m.named(o.freedBy) + " has freed"
	}
	m.d.Guest.Why(x, why+": "+how)
	x.Emit(linuxev.Heap, what, uint64(at), uint64(o.size))
}

// named describes an address of text in words.
func (e *env) named(at arch.Addr) string {
	if name, off, ok := e.k.Symbol(at); ok {
		return fmt.Sprintf("%s+%#x", name, off)
	}
	return fmt.Sprintf("%#x", uint64(at))
}

// leak reports memory that a run has never freed, once none of it can be needed: no probe is
// registered, no work is left, and all calls that return probes follow have ended with their
// tasks. It reports nothing if tasks have used one struct at the same time. Pages of slots
// and a loaded module's entries on the blacklist aren't leaks: the kernel keeps them.
func (fi *files) leak(tell func(k traces.Kind, a, b, c uint64)) {
	held := !fi.e.idle()
	for _, p := range fi.e.users.list {
		held = held || p.registered || p.mixed
	}
	fi.points(func(arch.Addr) { held = true })
	for i := range fi.e.fprobes.list {
		held = held || fi.e.fprobes.list[i].registered
	}
	if held {
		return
	}
	objects, calls := fi.e.memory.heap.objects, len(fi.e.patched.keys)
	fi.e.tracing.reach()
	if at := fi.e.tracing.stays(); at != 0 {
		fi.d.Guest.Why(nil, "the trampoline of a client of ftrace that isn't registered")
		tell(linuxev.Heap, linuxev.Leak, uint64(at), uint64(fi.k.word))
		return
	}
	for i := range objects {
		o := &objects[i]
		name, _, _ := fi.k.Symbol(o.by)
		if o.freed || strings.HasPrefix(name, "__get_insn_slot") || fi.e.tracing.keeps(o) ||
			(strings.HasPrefix(name, "kprobe_add_ksym_blacklist") || strings.HasPrefix(name, "jump_label_") ||
				strings.HasPrefix(name, "static_call_") || strings.HasPrefix(name, "__static_call_")) &&
				fi.e.modules.loaded() {
			continue
		}
		if strings.HasPrefix(name, "__static_call_") || strings.HasPrefix(name, "static_call_") {
			if calls--; calls >= 0 {
				continue // a key that has had a module's sites keeps its own in a list
			}
		}
		why := fi.named(o.by) + " has allocated them"
		if name := fi.e.memory.memberOf(o, -1); name != "" {
			why = "a " + name + ": " + why
		}
		fi.d.Guest.Why(nil, why)
		tell(linuxev.Heap, linuxev.Leak, uint64(o.at), uint64(o.size))
		return
	}
}

// objectTypes lists the structs that functions allocate. It includes functions into which an
// allocating function is inlined.
var objectTypes = [...]struct{ by, name string }{
	{"alloc_aggr_kprobe", "optimized_kprobe"},
	{"register_aggr_kprobe", "optimized_kprobe"},
	{"register_kprobe", "optimized_kprobe"},
	{"__get_insn_slot", "kprobe_insn_page"},
	{"register_kretprobe", "kretprobe_instance"},
	{"rethook_alloc", "rethook"},
	{"kprobe_add_area_blacklist", "kprobe_blacklist_entry"},
	{"kprobe_add_ksym_blacklist", "kprobe_blacklist_entry"},
}

// memberOf names the struct and the member that contain a byte of an object, "" if unknown.
func (m *memory) memberOf(o *object, off int) string {
	by, _, _ := m.k.Symbol(o.by)
	by, _, _ = strings.Cut(by, ".")
	for _, t := range objectTypes {
		size, ok := m.k.Image.Types().Size(t.name)
		if t.by != by || !ok || size > o.size {
			continue
		}
		if member, ok := m.k.Image.Types().Member(t.name, off); ok && off >= 0 && off < size {
			return "struct " + t.name + "'s " + member
		}
		return "struct " + t.name
	}
	return ""
}
