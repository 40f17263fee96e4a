package linux

import (
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A fixmap is the kernel's second mapping of text, through which it stores: a page at each of a few fixed addresses
// (patch_map). The kernel computes numbers of pages and those addresses by constants of its build. They are learned
// from the first use in a run, and the same ever after.
type fixmap struct {
	*env  `state:"boot"`
	slots []fixed
	asked [64]arch.Addr // by CPU: the page that vmalloc_to_page was asked about last; 0: it was mapped
	last  uint64        // the slot that was mapped last

	// What is learned: how far physical addresses made of vmalloc_to_page's answers are from the page's address, and
	// the address of slot 0. 0: it isn't known yet.
	away, zero arch.Addr
}

// A fixed is a page that is mapped at a slot.
type fixed struct {
	slot uint64
	page arch.Addr
}

// renew makes the state that a run begins with.
func (f *fixmap) renew() {
	f.slots, f.last, f.away, f.zero = f.slots[:0], 0, 0, 0
	clear(f.asked[:])
}

// structPage is sizeof(struct page), by which page_to_phys divides.
const structPage = 64

// vmallocToPage is vmalloc_to_page(addr). The answer is no address of a struct page: the kernel only counts with it.
func vmallocToPage(e *Linux, x kapi.Context, a *args) uint64 {
	at := arch.Addr(a[0]) &^ (page - 1)
	e.fixmap.asked[x.CPU()] = at
	return uint64(at) / page * structPage
}

// setFixmap is __set_fixmap(slot, physical address, protection). Without protection it unmaps.
func setFixmap(e *Linux, x kapi.Context, a *args) uint64 {
	f := &e.fixmap
	slot, at := a[0], arch.Addr(a[1])&^(page-1)
	f.slots = slices.DeleteFunc(f.slots, func(s fixed) bool { return s.slot == slot })
	if a[2] == 0 {
		return 0
	}
	if asked := &f.asked[x.CPU()]; *asked != 0 {
		if f.away == 0 {
			f.away = at - *asked
		}
		at, *asked = at-f.away, 0
	}
	f.slots, f.last = append(f.slots, fixed{slot, at}), slot
	return 0
}

// behind returns the address of the text that is mapped at an address.
func (f *fixmap) behind(at arch.Addr) (text arch.Addr, ok bool) {
	in := at &^ (page - 1)
	if f.zero == 0 && len(f.slots) > 0 {
		f.zero = in + arch.Addr(f.last)*page
	}
	for _, s := range f.slots {
		if f.zero-arch.Addr(s.slot)*page == in {
			return s.page + at%page, true
		}
	}
	return 0, false
}

// copyNofault is copy_to_kernel_nofault(to, from, size), which stores to text through a mapping, with interrupts off
// here. Where nothing is mapped it faults, and says so.
func copyNofault(e *Linux, x kapi.Context, a *args) uint64 {
	to, n := arch.Addr(a[0]), a[2]
	at, ok := e.fixmap.behind(to)
	if end, ok2 := e.fixmap.behind(to + arch.Addr(n) - 1); !ok || !ok2 || end != at+arch.Addr(n)-1 {
		return minusFault
	}
	b := e.poked(x, "copy_to_kernel_nofault", at, n)
	if b == nil {
		return minusFault
	}
	on := x.IRQ(false)
	words := &e.poke.words[x.CPU()] // no mutex keeps writers of labels and of sites apart
	if n <= uint64(len(words)) {
		b = words[:n]
	}
	e.read(x, arch.Addr(a[1]), b)
	e.poke.store(x, at, b, n <= uint64(len(words)))
	x.IRQ(on)
	return 0
}

// mappings are the services by which kernels of a row store to text.
func mappings(on *port) []served {
	return []served{
		{names: []string{"vmalloc_to_page"}, on: on, do: vmallocToPage,
			contract: "the struct page of an address, of which only the number counts"},
		{names: []string{"__set_fixmap"}, on: on, needed: true, do: setFixmap,
			contract: "maps a page at a fixed address, or nothing: (number, physical address, protection)"},
		{names: []string{"copy_to_kernel_nofault"}, on: on, needed: true, do: copyNofault,
			contract: "stores as memcpy does, or returns -EFAULT if nothing is mapped: (to, from, size)"},
	}
}
