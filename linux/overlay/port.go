package overlay

import (
	"kpsim/linux/vmlinux"
	"kpsim/smp/arch/target"
)

// A port is what the linker must know of a processor: a row.
type port struct {
	// init is how far behind the other code that of the boot is laid, in bytes, where the vmlinux's own isn't in
	// reach of it; 0: among it.
	init uint64
	// fromEnd says that a distance counts from the end of its hole.
	fromEnd bool
	// sites notes the places in a section that a kernel patches at boot. nil: there are none.
	sites func(o *object, v *Overlay, s *section)
	// users appends the names of the code in a section that refers to a variable of the vmlinux, but for what the
	// objects replace.
	users func(l *linker, names []string, s *vmlinux.Section, v vmlinux.Symbol) []string
}

// ports has a row for each processor over whose kernels objects are laid.
var ports = [...]*port{
	target.X8664:   {fromEnd: true, sites: (*object).sitesIn, users: (*linker).usersIn},
	target.I386:    {fromEnd: true, sites: (*object).sitesIn, users: (*linker).usersIn},
	target.RISCV64: {users: usersRISCV},
	target.ARM64:   {users: usersARM},
	target.PPC64LE: {init: 0x1f2_0000, users: usersPPC},
}
