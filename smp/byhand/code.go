package byhand

import (
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

const pageSize = 1 << 12

// A Code is memory for code in pages of its own.
type Code struct {
	h    *Hand        // set at boot
	in   kapi.Section // set at boot: what the scenario uses of it
	here bool         // set at boot: a run begins with it mapped
	now  kapi.Var[bool]
	page *protection // set at boot: nil: tasks don't take its permission to execute away
}

// The errnos of what is done by hand, besides 0.
const (
	EAGAIN = 11 // other bytes stand there
	ENOMEM = 12 // it is mapped already, or, to protect it, not mapped
	EINVAL = 22 // it isn't mapped
)

// NewCode makes memory for code, at boot, with bytes that are there when a run begins, if here is set.
func (h *Hand) NewCode(name string, at arch.Addr, code []byte, here bool) *Code {
	c := &Code{h: h, in: kapi.Section{At: at, Size: len(code)}, here: here}
	m := h.k.M
	m.Memory().MapLater(at, c.pages(), here)
	if here {
		m.Memory().Map(at, code, smp.PermRead|smp.PermExec)
	}
	m.Names().AddSymbol(name, at, len(code))
	c.now.Init(&m.Cells, here)
	h.codes = append(h.codes, c)
	return c
}

func (c *Code) pages() int { return (c.in.Size + pageSize - 1) / pageSize }

// Code returns the memory that begins at an address.
func (h *Hand) Code(at arch.Addr) *Code {
	for _, c := range h.codes {
		if c.in.At == at {
			return c
		}
	}
	return nil
}

// Map allocates the memory and makes it executable. Each byte is a breakpoint. No CPU serialises.
func (c *Code) Map(x *smp.Ctx) (errno int) {
	if !c.now.Swap(x, kapi.Once, false, true) {
		return ENOMEM
	}
	x.Pages().Map(c.in.At, c.pages())
	if c.page != nil {
		c.page.now.Change(x, kapi.Once).exec = true
	}
	x.Emit(smpev.Alloc, uint64(c.in.At), uint64(c.in.Size), smpev.CodeMem)
	c.poison(x)
	return 0
}

// Free gives the memory back to an allocator that keeps it mapped: each byte is a breakpoint from now on. Map may
// hand it out again at once.
func (c *Code) Free(x *smp.Ctx) (errno int) {
	if !c.now.Swap(x, kapi.Once, true, false) {
		return EINVAL
	}
	x.Emit(smpev.Free, uint64(c.in.At), uint64(c.in.Size), smpev.CodeMem)
	c.poison(x)
	return 0
}

// poison makes each byte a breakpoint.
func (c *Code) poison(x *smp.Ctx) {
	x.Text().Poison(c.in.At, c.in.Size)
	if t := c.h.text(c.in.At); t != nil {
		for i := range t.code {
			t.code[i], t.behind[i] = c.h.k.M.Arch().Filled(c.in.At+arch.Addr(i)), 0
		}
	}
}

// Unmap is Free, and the pages go (munmap): a CPU that runs there faults. The CPUs' translations are flushed by IPIs,
// from which they return serialised. Context: interrupts on.
func (c *Code) Unmap(x *smp.Ctx) (errno int) {
	if errno := c.Free(x); errno != 0 {
		return errno
	}
	x.Pages().Unmap(c.in.At, c.pages())
	c.h.k.Sync.Core(x, smpev.SyncFlush)
	return 0
}
