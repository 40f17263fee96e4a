package byhand

import (
	"cmp"

	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// A protection is what memory for code has if tasks take its permission to execute away.
type protection struct {
	now  kapi.Var[rights]
	does kapi.Var[Action] // what the handler of a fault does; To is 0: it waits until the memory can be executed
}

// rights are the permissions of memory for code.
type rights struct {
	// owned by the cell: it may be executed
	exec bool
	// owned by the cell: a bit for each task, whose last Protect found that it could be
	found [maxTasks / 64]uint64
}

// maxTasks is more than the tasks of any machine.
const maxTasks = 256

func (r *rights) had(id kapi.TaskID) bool { return r.found[id/64]>>(id%64)&1 != 0 }

// Cell and Holds make a protection the condition of a handler that waits.
func (p *protection) Cell() kapi.CellID { return p.now.ID() }

// Holds reports whether the memory can be executed.
func (p *protection) Holds() bool { return p.now.Peek().exec }

// BootProtect makes it possible, at boot, that tasks take the permission to execute the memory away. It is set when a
// run begins.
func (c *Code) BootProtect() {
	if c.page != nil {
		return
	}
	c.page = new(protection)
	c.page.now.Init(&c.h.k.M.Cells, rights{exec: true})
	c.page.does.Init(&c.h.k.M.Cells, Action{})
}

// begin begins a run.
func (p *protection) begin() {
	p.now.Set(rights{exec: true})
	p.does.Set(Action{})
}

// Protect gives the memory the permission to execute, or takes it away (mprotect), and notes what it had. Other CPUs'
// translations are flushed by IPIs, from which they return serialised. Context: interrupts on.
func (c *Code) Protect(x *smp.Ctx, exec bool) (errno int) {
	return c.protect(x, func(*rights) bool { return exec })
}

// Unprotect is Protect with what the task's last Protect found: what VirtualProtect returns is given to it again.
func (c *Code) Unprotect(x *smp.Ctx) (errno int) {
	return c.protect(x, func(r *rights) bool { return r.had(x.Task()) })
}

func (c *Code) protect(x *smp.Ctx, wanted func(r *rights) bool) (errno int) {
	r := c.page.now.RMW(x, kapi.Once)
	if !c.now.Look(x) {
		return ENOMEM
	}
	exec, bit := wanted(r), uint64(1)<<(x.Task()%64)
	found := &r.found[x.Task()/64]
	if *found &^= bit; r.exec {
		*found |= bit
	}
	if r.exec != exec {
		r.exec = exec
		x.Pages().Protect(c.in.At, c.in.Size, exec)
		c.h.k.Sync.Core(x, smpev.SyncFlush)
	}
	return 0
}

// BootMprotect makes mprotect work, at boot, for all memory for code.
func (h *Hand) BootMprotect() {
	for _, c := range h.codes {
		c.BootProtect()
	}
	h.k.OnProtect(h.mprotect)
}

// mprotect is Protect of all memory for code that has a page in a section, for a compiled patcher; other memory keeps
// its permissions. Context: interrupts on.
func (h *Hand) mprotect(x *smp.Ctx, in kapi.Section, exec bool) (errno int) {
	for _, c := range h.codes {
		from, to := max(in.At, c.in.At), min(in.At+arch.Addr(in.Size), c.in.At+arch.Addr(c.pages()*pageSize))
		if from < to && errno == 0 {
			errno = c.Protect(x, exec)
		}
	}
	return errno
}

// Executable reports whether the memory has the permission, if it is mapped.
func (c *Code) Executable() bool { return c.page == nil || c.page.now.Peek().exec }

// OnFault says what a fault in the memory does from now on, while that can't be executed (point).
func (c *Code) OnFault(x kapi.Context, does Action) { c.page.does.StoreRelease(x, handlerSet, does) }

// fault is the handler of faults. Context: interrupts off.
func (h *Hand) fault(x kapi.Context, regs *arch.Regs, trapnr int) uint64 {
	if trapnr != smpev.VecPF {
		return 0
	}
	at := h.k.Guest.Fault(x)
	if at-regs.IP >= arch.Addr(h.k.M.Arch().MaxLen) {
		return 0 // it isn't a fetch's
	}
	for _, c := range h.codes {
		if c.page == nil || at-c.in.At >= arch.Addr(c.pages()*pageSize) || !c.now.ReadNewest(x) {
			continue
		}
		does := c.page.does.ReadNewest(x)
		if !does.Owns {
			return 0
		}
		does.handle(x, regs, cmp.Or(does.To, regs.IP), regs.IP, c.page)
		return smpev.OwnerByHand
	}
	return 0
}
