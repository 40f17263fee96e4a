package linux

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Where kmalloc's memory lies.
const heapBase arch.Addr = 0xffff_8880_1000_0000

const heapSize = 16 << 20 // bytes

// A heap is what kmalloc has handed out.
type heap struct {
	next arch.Addr
	live []span
}

// gfpZero is __GFP_ZERO.
const gfpZero = 0x100

// alloc is kmalloc(size, flags).
func (e *Linux) alloc(x kapi.Context, size, flags uint64) uint64 {
	if size > 1<<20 || e.heap.next+arch.Addr(size)+page > heapBase+heapSize {
		return 0
	}
	x.Touch(e.allocator.ID(), kapi.Write)
	at := e.heap.next
	e.heap.next += arch.Addr(roundUp(int(size), 64) + 64)
	fill := uint64(poison)
	if flags&gfpZero != 0 {
		fill = 0
	}
	for off := uint64(0); off < size; off += 8 {
		x.Memory().Store(at+arch.Addr(off), 8, fill)
	}
	e.heap.live = append(e.heap.live, span{at, int(size)})
	return uint64(at)
}

// freed is what memory is filled with that was given back: no address.
const freed = 0x6b6b6b6b6b6b6b6b

// free is kfree(at).
func (e *Linux) free(x kapi.Context, at uint64) {
	if at == 0 {
		return
	}
	x.Touch(e.allocator.ID(), kapi.Write)
	for i := len(e.heap.live) - 1; i >= 0; i-- {
		s := e.heap.live[i]
		if s.at != arch.Addr(at) {
			continue
		}
		e.heap.live = append(e.heap.live[:i], e.heap.live[i+1:]...)
		for off := 0; off < s.size; off += 8 {
			x.Memory().Store(s.at+arch.Addr(off), 8, freed)
		}
		return
	}
	e.bug(x, "kfree of memory that isn't allocated")
}
