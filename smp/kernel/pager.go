package kernel

import (
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Pager brings in paged-out data, a while after its first access. A task that accesses it meanwhile sleeps in the
// page fault, wherever its instruction is.
type Pager struct {
	k      *Kernel       // set at boot
	work   *DelayedWork  // set at boot; nil: nothing is ever away
	wanted []arch.Addr   // owned by the worker, and by the faulting task within one step
	served kapi.Var[int] // stored when pages have come
	// owned by the task of that number
	waits [256]pagerWait `state:"skip: a task's own: what its routine sets it to follows from what that has read"`
}

var pagerServes = kapi.DefineBarrier("pager: serve", kapi.OrderRelease,
	"folio_unlock, mm/filemap.c: clear_bit_unlock of PG_locked, after set_pte_at")

// pagerWait is the condition that the page of an address is in memory.
type pagerWait struct {
	p  *Pager    // set at boot
	at arch.Addr // owned by its task
}

func (w *pagerWait) Cell() kapi.CellID { return w.p.served.ID() }

func (w *pagerWait) Holds() bool { return !w.p.k.M.Memory().PagedOut(w.at) }

func (p *Pager) reset() { p.wanted = p.wanted[:0] }

// Away puts data at an address that is away when a run begins, at boot.
func (k *Kernel) Away(at arch.Addr, b []byte) {
	k.M.Memory().MapPagedOut(at, b)
	p := &k.Pager
	if p.work != nil {
		return
	}
	p.k = k
	p.served.Init(&k.M.Cells, 0)
	for i := range p.waits {
		p.waits[i].p = p
	}
	p.work = k.Work.BootWork("pager", p.bring)
	k.Traps.onPageFault(p.fault)
}

// fault handles a page fault, and reports whether to repeat the access. If the page has come in meanwhile, the access
// is just repeated. If sleeping is forbidden it doesn't wait: the exception table decides what happens (fault.c,
// in_atomic).
//
//	step 1: request the page
//	step 2: sleep until it has come, with interrupts as they were
//
// Context: interrupts off.
func (p *Pager) fault(x *smp.Ctx, regs *arch.Regs, addr arch.Addr) bool {
	x.Mark(p.served.ID(), kapi.Read)
	came := p.k.M.Memory().PagedIn(addr)
	if !came && !p.k.M.Memory().PagedOut(addr) || regs.Flags&arch.IRQ == 0 {
		return false
	}
	x.IRQ(true)
	if x.Atomic() {
		x.IRQ(false)
		return false
	}
	if came {
		x.IRQ(false)
		return true
	}
	x.Step("page fault", 1)
	p.wanted = append(p.wanted, addr)
	p.work.Queue(x)

	x.Step("page fault", 2)
	w := &p.waits[x.Task()]
	w.at = addr
	x.SleepForWork(w, p.work.timer)
	x.IRQ(false)
	return true
}

// bring is the work.
func (p *Pager) bring(x kapi.Context) {
	*p.served.RMW(x, pagerServes)++
	for _, at := range p.wanted {
		if p.k.M.Memory().PagedOut(at) {
			ctxOf(x).Pages().PageIn(at)
		}
	}
	p.wanted = p.wanted[:0]
}
