package linux

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Memory for code: pages that the kernel asks for.

func moduleAlloc(e *Linux, x kapi.Context, a *args) uint64 {
	size := a[0]
	if e.k.config.execmem { // execmem_alloc(type, size)
		size = a[1]
	}
	if size > page*16 {
		return 0
	}
	at, ok := e.bootCode(int(size))
	if !ok {
		at, ok = e.d.Guest.MapExec(x, roundUp(int(size), page)/page)
	}
	if !ok {
		return 0
	}
	e.memory.code = append(e.memory.code, span{at, roundUp(int(size), page)})
	e.tracing.handed(x, at, size)
	return uint64(at)
}

// setMemory is set_memory_rox(address, pages), or set_memory_ro, after which set_memory_x comes.
func setMemory(e *Linux, x kapi.Context, a *args) uint64 {
	e.tracing.written(x, arch.Addr(a[0]))
	return 0
}

// bootCode returns pages for code that boot allocates, if the kernel's does.
func (e *Linux) bootCode(size int) (at arch.Addr, ok bool) {
	at = e.k.port.text.boot
	for _, s := range e.memory.code {
		at = s.at + arch.Addr(s.size)
	}
	return at, e.booting && e.k.port.text.boot != 0 && at+arch.Addr(size) <= e.k.port.text.boot+bootCodeSize
}

// bootCodeSize is how much code boot allocates at most, in bytes.
const bootCodeSize = 16 * page

func moduleFree(e *Linux, x kapi.Context, a *args) uint64 {
	for i := range e.memory.code {
		if e.memory.code[i].at == arch.Addr(a[0]) {
			e.tracing.freed(x, e.memory.code[i].at)
			e.d.Guest.UnmapExec(x, e.memory.code[i].at, e.memory.code[i].size/page)
			e.memory.code = append(e.memory.code[:i], e.memory.code[i+1:]...)
			return 0
		}
	}
	if a[0] != 0 {
		e.bug(x, "memory for code is freed that wasn't handed out")
	}
	return 0
}

// A span is memory that was handed out.
type span struct {
	at   arch.Addr
	size int
}

// has reports whether an address lies in the span.
func (s span) has(a arch.Addr) bool { return a >= s.at && a < s.at+arch.Addr(s.size) }
