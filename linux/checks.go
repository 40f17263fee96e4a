package linux

import (
	"fmt"

	"kpsim/linux/linuxev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// What a kernel says of itself where the compiler, or a macro, has put a check.

// undefined is the service for __ubsan_handle_*(data, …): data begins with the place in
// the source (struct source_location). A kernel prints it and goes on, as after a WARN.
func undefined(what string) func(e *Linux, x kapi.Context, a *args) uint64 {
	return func(e *Linux, x kapi.Context, a *args) uint64 {
		file, _ := x.Memory().Load(arch.Addr(a[0]), 8)
		line, _ := x.Memory().Load(arch.Addr(a[0])+8, 4)
		e.d.Guest.Why(x, fmt.Sprintf("UBSAN at %s:%d: %s", e.text(x, arch.Addr(file)), line, what))
		x.Emit(linuxev.Warn, uint64(caller(x)), line, 0)
		return 0
	}
}

// warnTrap is __WARN_trap(bug, …): the WARN of a struct bug_entry.
func warnTrap(e *Linux, x kapi.Context, a *args) uint64 {
	b, ok := e.k.Image.BugEntry(a[0])
	if !ok {
		e.bug(x, "__WARN_trap without an entry")
		return 0
	}
	regs := *x.Regs()
	regs.IP = caller(x)
	e.warn(x, &regs, b)
	return 0
}

func overrun(e *Linux, x kapi.Context, a *args) uint64 {
	e.bug(x, "a buffer is overrun: fortify_panic")
	return 0
}
