package linux

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A Handling says what register_kprobe makes of an instruction.
type Handling struct {
	Errno     uint64 // 0: it is registered, and the rest is valid
	By        string // the kernel's function that executes it on the saved registers; "": none does, or it isn't known
	Copied    bool   // it has a slot
	Optimized bool   // a branch to a detour may take its place
}

// Handling registers the first of the engine's probes at an address, looks at what the kernel made of it, and
// unregisters it. It may sleep.
func (e *Linux) Handling(x kapi.Context, at arch.Addr) (h Handling) {
	e.users.list[0].Addr = at
	if h.Errno = e.Do(x, kpev.Register, 0); h.Errno != 0 {
		return h
	}
	f := &e.k.fields
	p := e.users.list[0].at
	e.points(func(pp arch.Addr) {
		if e.aggregate(pp) && arch.Addr(e.look(pp, f.kprobe.addr)) == at && f.optimized.detour.size > 0 &&
			e.look(pp, f.optimized.detour) != 0 {
			h.Optimized = true
		}
	})
	h.Copied = get(x, p, f.kprobe.insn) != 0
	if off, size, ok := e.k.Image.Types().Off("kprobe", "ainsn.api.handler"); ok {
		if at := get(x, p, field{off, size}); at != 0 {
			h.By, _, _ = e.k.Symbol(arch.Addr(at))
		}
	}
	e.Do(x, kpev.Unregister, 0)
	if h.Optimized {
		e.Wait(x)
	}
	return h
}
