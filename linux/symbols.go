package linux

import (
	"slices"

	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Look-ups in kallsyms and in the tables beside the text. They answer for the functions of a
// scenario as the kernel's own do for its functions.

func lookupSizeOffset(e *Linux, x kapi.Context, a *args) uint64 {
	at, size, ok := e.symbolOf(x, arch.Addr(a[0]))
	if !ok {
		return 0
	}
	if a[1] != 0 {
		x.Memory().Store(arch.Addr(a[1]), e.k.word, uint64(size))
	}
	if a[2] != 0 {
		x.Memory().Store(arch.Addr(a[2]), e.k.word, a[0]-uint64(at))
	}
	return 1
}

// symbolOf returns the symbol that an address lies in: one of the scenario, else one of the kernel.
func (e *env) symbolOf(x kapi.Context, a arch.Addr) (at arch.Addr, size int, ok bool) {
	e.d.Symbols.Look(x)
	if f, ok := e.d.Symbols.Lookup(a); ok {
		return f.Addr, f.Size, true
	}
	s, ok := e.k.Image.Lookup(uint64(a))
	return arch.Addr(s.Addr), int(s.Size), ok
}

func lookupName(e *Linux, x kapi.Context, a *args) uint64 {
	name := e.text(x, arch.Addr(a[0]))
	e.d.Symbols.Look(x)
	if f, ok := e.d.Symbols.Named(name); ok {
		return uint64(f.Addr)
	}
	return uint64(e.k.at(name))
}

func lookupSymbolName(e *Linux, x kapi.Context, a *args) uint64 {
	name := ""
	if f, ok := e.d.Symbols.Lookup(arch.Addr(a[0])); ok {
		name = f.Name
	} else if s, ok := e.k.Image.Lookup(a[0]); ok {
		name = s.Name
	} else {
		return negative(34) // ERANGE
	}
	e.write(x, arch.Addr(a[1]), append([]byte(name), 0))
	return 0
}

// negative returns -errno as an int.
func negative(errno uint32) uint64 { return uint64(uint32(-int32(errno))) }

func textAddress(e *Linux, x kapi.Context, a *args) uint64 {
	e.d.Symbols.Look(x)
	at := arch.Addr(a[0])
	switch e.d.Symbols.Kind(at) {
	case kapi.TextCore, kapi.TextInit:
		return 1
	}
	for _, c := range e.memory.code {
		if at >= c.at && at < c.at+arch.Addr(c.size) {
			return 1
		}
	}
	return b2u(e.k.isText(at))
}

func coreText(e *Linux, x kapi.Context, a *args) uint64 {
	at := arch.Addr(a[0])
	if f, ok := e.d.Symbols.Lookup(at); ok && f.Module == "" && e.d.Symbols.Kind(at) == kapi.TextCore {
		return 1
	}
	return b2u(e.k.isText(at))
}

// reservedBy returns a service (start, end) that tells whether a range contains a site of one
// kind of patcher. end is the last byte of the range.
func reservedBy(kind kapi.SiteKind) func(e *Linux, x kapi.Context, a *args) uint64 {
	return func(e *Linux, x kapi.Context, a *args) uint64 {
		return b2u(e.hasSite(kind, arch.Addr(a[0]), int(a[1]-a[0])+1))
	}
}

// alternativeReserved is alternatives_text_reserved(start, end). It takes end as exclusive
// though callers pass the last byte, so it doesn't look at that byte.
func alternativeReserved(e *Linux, x kapi.Context, a *args) uint64 {
	return b2u(e.hasSite(kapi.SiteAlternative, arch.Addr(a[0]), int(a[1]-a[0])))
}

// hasSite reports whether a site of a kind overlaps a range.
func (e *env) hasSite(kind kapi.SiteKind, at arch.Addr, size int) bool {
	return e.siteIn(kind, at, size) != 0
}

func findBug(e *Linux, x kapi.Context, a *args) uint64 {
	e.sites = e.d.Symbols.Sites(e.sites[:0], arch.Addr(a[0]), 1)
	for _, s := range e.sites {
		if s.Kind == kapi.SiteBug && s.Addr == arch.Addr(a[0]) {
			return a[0] // any pointer but NULL
		}
	}
	if !e.k.isText(arch.Addr(a[0])) {
		return 0
	}
	if _, ok := e.k.Image.Bug(a[0]); ok {
		return a[0]
	}
	return 0
}

// isTrap is is_cfi_trap(addr). Functions of scenarios have no such trap.
func isTrap(e *Linux, _ kapi.Context, a *args) uint64 {
	return b2u(e.k.isText(arch.Addr(a[0])) && slices.Contains(vmlinux.Traps(e.k.Image), a[0]))
}

// hasHitBreak is kgdb_has_hit_break(addr).
func hasHitBreak(e *Linux, x kapi.Context, a *args) uint64 {
	return b2u(e.d.Debugger != nil && e.d.Debugger(x, arch.Addr(a[0])))
}

func searchExtable(e *Linux, x kapi.Context, a *args) uint64 {
	if e.d.Symbols.Extable(arch.Addr(a[0]), 1) {
		return a[0]
	}
	return 0
}

// The layout, in bytes, of the blacklist's entries for functions of the scenario.
const (
	banSize = 64 * page
	banStep = 64
)

// ban puts the scenario's functions that refuse probes on the kernel's blacklist, as boot does
// with the kernel's own and those of modules already loaded. For a module that is loaded later,
// the kernel does it itself.
func (pa *patched) ban() {
	f := &pa.k.fields
	if pa.k.config.without != "" {
		return
	}
	list := pa.k.at("kprobe_blacklist")
	n := arch.Addr(0)
	for _, b := range pa.d.Symbols.Blacklist(nil) {
		if list == 0 || n*banStep == banSize {
			continue
		}
		at := pa.k.places.bans + n*banStep
		prev := pa.k.words(1) // the offset of prev in a list_head
		last := pa.next(list + prev)
		pa.putWord(at+arch.Addr(f.ban.start.off), uint64(b.Addr))
		pa.putWord(at+arch.Addr(f.ban.end.off), uint64(b.Addr)+uint64(b.Size))
		node := at + arch.Addr(f.ban.list.off)
		pa.putWord(node, uint64(list))
		pa.putWord(node+prev, uint64(last))
		pa.putWord(last, uint64(node))
		pa.putWord(list+prev, uint64(node))
		n++
	}
}
