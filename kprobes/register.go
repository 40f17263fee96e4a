package kprobes

import (
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// Register puts a probe where it says and arms it, unless it says that it is
// disabled or nothing is armed now (spec 6.1, 6.3, 7.2). It returns nil or an
// Errno. Context: may sleep.
func (e *Engine) Register(x kapi.Context, k *Kprobe) error {
	e.mutex.Lock(x)
	err := e.registerKprobe(x, k)
	e.mutex.Unlock(x)
	return err
}

// registerKprobe is Register with kprobe_mutex held.
func (e *Engine) registerKprobe(x kapi.Context, k *Kprobe) error {
	if err := e.do.CheckKprobeRereg(e, x, k); err != nil {
		return err
	}
	e.d.Symbols.Look(x)
	at, err := e.do.KprobeAddr(e, k)
	if err != nil {
		return err
	}
	k.Addr, k.entry = e.archAdjustKprobeAddr(x, at)
	k.Flags = e.do.InitFlags(e, k)
	k.missed.Init(e.d.Cells, e.do.InitNmissed(k))
	k.disabled.Init(e.d.Cells, k.Flags&FlagDisabled != 0)
	k.gone, k.off = false, false

	m, err := e.checkKprobeAddressSafe(x, k.Addr)
	if err != nil {
		return err
	}
	err = e.doRegisterKprobe(x, k)
	if err == nil && e.s.ModuleRefs {
		k.module = m // until it is unregistered
	} else {
		e.modulePut(x, m)
	}
	return err
}

// doRegisterKprobe is register of a probe whose address is known, and whose text stays.
func (e *Engine) doRegisterKprobe(x kapi.Context, k *Kprobe) error {
	p, there := e.table.Get(x, k.Addr)
	if there {
		return e.registerAggrKprobe(x, p, k)
	}
	e.do.LockSites(e, x)
	p, err := e.prepareKprobe(x, k.Addr, k.Post != nil)
	e.unlockSites(x)
	if err != nil {
		return err
	}
	k.aggr = p
	first := e.newList()
	first.probes = append(first.probes, k)
	p.probes.Set(first)
	e.table.Put(x, p.addr, p)
	if err := e.armEnabled(x, p); err != nil {
		e.table.Del(x, p.addr)
		e.d.RCU.Synchronize(x, kapi.QuiesceRCU)
		e.freeAggrKprobe(x, p)
		k.aggr = nil
		return err
	}
	e.do.LockText(e, x)
	e.do.PrepareOptimizedKprobe(e, x, p)
	e.unlockText(x)
	e.optimizeKprobe(x, p)
	return nil
}

// registerAggrKprobe adds a probe to an aggr that is there: in use, or unused and waiting to
// be unoptimized, whose removal it cancels. A jump runs no post_handler and no
// jprobe's entry, so it is taken away before one joins (spec 4.9).
func (e *Engine) registerAggrKprobe(x kapi.Context, p *Aggr, k *Kprobe) error {
	if err := e.do.CheckJprobe(p, k); err != nil {
		return err
	}
	if p.gone {
		if err := e.reviveAggr(x, p, k.Post != nil); err != nil {
			return err
		}
	}
	if k.Post != nil || k.jp != nil {
		e.unoptimizeKprobeNow(x, p)
	}
	if k.Post != nil {
		if err := e.do.Unboost(e, x, p); err != nil {
			return err
		}
	}
	k.aggr = p
	e.do.AddNewKprobe(e, x, p, k)
	err := e.rearm(x, p)
	if err != nil {
		e.replaceProbes(x, p, nil, k)
		e.d.RCU.Synchronize(x, kapi.QuiesceRCU)
		k.aggr = nil
	}
	return err
}

// rearm arms an aggr that was joined or of which a probe was enabled, if a probe
// of it is enabled, and tries to optimize it. Context: kprobe_mutex held.
func (e *Engine) rearm(x kapi.Context, p *Aggr) error {
	if !p.armed.Load(x) {
		if err := e.armEnabled(x, p); err != nil {
			return err
		}
	}
	e.optimizeKprobe(x, p)
	return nil
}

// armEnabled arms an aggr unless all its probes are disabled (spec 6.3). Context:
// kprobe_mutex held.
func (e *Engine) armEnabled(x kapi.Context, p *Aggr) error {
	if !e.do.AggrEnabled(p) {
		return nil
	}
	return e.do.ArmKprobe(e, x, p)
}

// replaceProbes gives the aggr a new list: with add first, or last if it is a
// jprobe's, without drop.
func (e *Engine) replaceProbes(x kapi.Context, p *Aggr, add, drop *Kprobe) {
	e.mutex.AssertHeld(x)
	next := e.newList()
	last := add != nil && e.do.AddTail(add)
	if add != nil && !last {
		next.probes = append(next.probes, add)
	}
	for _, k := range p.probes.Peek().probes {
		if k != drop {
			next.probes = append(next.probes, k)
		}
	}
	if last {
		next.probes = append(next.probes, add)
	}
	e.do.PublishProbes(x, p, next)
}

// Unregister takes a probe away: when it returns none of its handlers runs
// again (spec 6.5, 6.7). One that isn't registered has its address cleared, and
// EINVAL is returned, which the kernel doesn't tell. Context: may sleep.
func (e *Engine) Unregister(x kapi.Context, k *Kprobe) error {
	one := [1]*Kprobe{k}
	return e.unregisterKprobes(x, one[:])
}

// unregisterKprobes takes probes away, with one grace period for all.
//
//	top:    disable the probes; take them, or their aggrs, out of what readers find
//	wait:   a grace period: no CPU is in a handler that has found one
//	bottom: free what only those could use
func (e *Engine) unregisterKprobes(x kapi.Context, ks []*Kprobe) (err error) {
	var gone *Aggr
	var few [4]*holder
	holders := few[:0]
	var mods [4]*kapi.Module
	modules := mods[:0]
	left := 0
	e.mutex.Lock(x)
	for _, k := range ks {
		p := k.aggr
		if p == nil {
			err = EINVAL
			if e.s.Batches {
				e.do.ClearAddr(k)
			}
			continue
		}
		left++
		if k.ret != nil && k.ret.holder != nil {
			holders = append(holders, k.ret.holder)
		}
		if k.module != nil { // now: another task may register it again while this waits
			modules = append(modules, k.module)
			k.module = nil
		}
		if e.unregisterKprobeTop(x, p, k) {
			p.next, gone = gone, p
		}
	}
	e.mutex.Unlock(x)
	if left == 0 {
		return err
	}

	e.do.UnregisterWait(e, x, gone)

	for _, m := range modules {
		e.modulePut(x, m)
	}
	if gone != nil {
		e.do.UnregisterKprobeBottom(e, x, gone)
	}
	for _, h := range holders {
		if h.rp.holder == h { // else another task has registered it again meanwhile
			x.Touch(h.rp.missed.ID(), kapi.Write)
			h.rp.holder = nil
		}
		e.cleanupRpInst(x, h)
	}
	return err
}

// unregisterKprobeTop takes a probe from its aggr, and the aggr from the table if it was
// the last one: it reports whether the aggr is the caller's to free. Context:
// kprobe_mutex held.
func (e *Engine) unregisterKprobeTop(x kapi.Context, p *Aggr, k *Kprobe) (gone bool) {
	e.replaceProbes(x, p, nil, k)
	if e.do.AggrEnabled(p) {
		e.optimizeKprobe(x, p) // k may have been what kept it from that
	} else if e.do.DisarmKprobe(e, x, p) {
		if gone = p.Unused(); gone {
			e.do.HideKprobe(e, x, p)
		}
		e.do.OptimizeBlocked(e, x, p)
	}
	k.aggr = nil
	if k.ret != nil && k.ret.holder != nil { // with mutant re-register another task may have dropped it: a kernel would follow a null pointer
		e.rethookFree(x, k.ret.holder)
	}
	return gone
}

// unregisterKprobeBottom frees aggrs that no reader can find any more. A CPU may still be in
// a detour if a breakpoint sent it there while the aggr was queued: code that
// can be preempted, for which an RCU grace period is not enough where there is
// preemption. kprobe_mutex isn't needed, which the optimizer holds while it waits for
// all tasks: what such a CPU stands in can go while no task can register a probe and
// be handed it. 2.6 takes it (arch_remove_kprobe, until 2.6.29).
func (e *Engine) unregisterKprobeBottom(x kapi.Context, gone *Aggr) {
	for p := gone; p != nil; p = p.next {
		if p.detour.size != 0 {
			e.do.SynchronizeTasks(e, x)
			break // one wait for all
		}
	}
	locked := e.s.Kernel.Edition == rules.Edition26
	if locked {
		e.mutex.Lock(x)
	}
	for p := gone; p != nil; p = p.next {
		e.freeAggrKprobe(x, p)
	}
	if locked {
		e.mutex.Unlock(x)
	}
}

// Disable silences a probe (spec 6.6); if none of its aggr is left the aggr
// is disarmed. It returns EINVAL if the probe isn't registered. Context: may sleep.
func (e *Engine) Disable(x kapi.Context, k *Kprobe) error {
	e.mutex.Lock(x)
	err := e.do.DisableKprobe(e, x, k)
	e.mutex.Unlock(x)
	return err
}

// disableKprobe is Disable with kprobe_mutex held.
func (e *Engine) disableKprobe(x kapi.Context, k *Kprobe) error {
	if !e.s.Batches {
		return EOPNOTSUPP
	}
	if k.aggr == nil {
		return EINVAL
	}
	if k.disabled.Load(x) {
		return nil // spec 6.6
	}
	k.disabled.Store(x, true)
	if !e.do.AggrEnabled(k.aggr) {
		e.do.DisarmDisabled(e, x, k.aggr)
	}
	return nil
}

// disarmDisabled disarms what has no enabled probe any more. Context: kprobe_mutex held.
func (e *Engine) disarmDisabled(x kapi.Context, p *Aggr) {
	if e.do.DisarmKprobe(e, x, p) {
		e.do.OptimizeBlocked(e, x, p)
	}
}

// Enable undoes Disable. It returns EINVAL if the probe isn't registered, or its
// text is gone. Context: may sleep.
func (e *Engine) Enable(x kapi.Context, k *Kprobe) error {
	e.mutex.Lock(x)
	err := e.do.EnableKprobe(e, x, k)
	e.mutex.Unlock(x)
	return err
}

// enableKprobe is Enable with kprobe_mutex held.
func (e *Engine) enableKprobe(x kapi.Context, k *Kprobe) error {
	if !e.s.Batches {
		return EOPNOTSUPP
	}
	if k.aggr == nil {
		return EINVAL
	}
	if k.gone {
		return EINVAL
	}
	if !k.disabled.Load(x) {
		return nil // spec 6.6
	}
	return e.do.EnableAggr(e, x, k.aggr, k)
}

// enableAggr enables a probe that is disabled, and arms where it is. Context:
// kprobe_mutex held.
func (e *Engine) enableAggr(x kapi.Context, p *Aggr, k *Kprobe) error {
	e.do.SetDisabled(x, k, false)
	err := e.rearm(x, p)
	if err != nil {
		k.disabled.Store(x, true)
	}
	return err
}

var int3 = [...]byte{x86.Int3}

// armKprobe writes the breakpoint. A probe whose jump covers the address gives way
// first (spec 4.8). A site of ftrace is armed by that, which may refuse it: EBUSY.
// Context: kprobe_mutex held.
func (e *Engine) armKprobe(x kapi.Context, p *Aggr) error {
	if e.disarmed {
		return nil // the file enabled says 0 (spec 7.2)
	}
	return e.armKprobeNow(x, p)
}

// armKprobeNow is armKprobe whatever the file enabled says (arm_kprobe).
func (e *Engine) armKprobeNow(x kapi.Context, p *Aggr) error {
	if p.verdict.Ftrace {
		return e.armKprobeFtrace(x, p)
	}
	e.do.LockText(e, x)
	if q := e.do.GetOptimizedKprobe(e, p.addr); q != nil {
		e.unoptimizeKprobe(x, q, true)
	}
	x.Emit(kpev.Arm, uint64(p.addr), 0, 0)
	e.do.ArchArmKprobe(e, x, p)
	p.armed.Store(x, true)
	e.unlockText(x)
	return nil
}

// disarmKprobe puts the original byte back, or queues that for the optimizer, which
// has to take a jump away first. It reports whether it is done. Context:
// kprobe_mutex held.
func (e *Engine) disarmKprobe(x kapi.Context, p *Aggr) bool {
	if p.client != nil {
		e.do.DisarmKprobeFtrace(e, x, p)
		return true
	}
	e.do.LockText(e, x)
	e.unoptimizeKprobe(x, p, false)
	done := p.list == nil
	if done && p.armed.Load(x) {
		e.archDisarmKprobe(x, p)
	}
	e.unlockText(x)
	return done
}

// archDisarmKprobe writes the original first byte. Context: text_mutex held.
func (e *Engine) archDisarmKprobe(x kapi.Context, p *Aggr) {
	x.Emit(kpev.Disarm, uint64(p.addr), 0, 0)
	e.do.RestoreOpcode(e, x, p)
	e.d.Sync.Core(x, kpev.SyncDisarm)
	p.armed.Store(x, false)
}

// getOptimizedKprobe returns the aggr whose region holds addr after its first byte,
// and that is optimized or to be. Context: kprobe_mutex held.
func (e *Engine) getOptimizedKprobe(addr arch.Addr) *Aggr {
	for q := range e.aggrsBefore(addr) {
		if q.optimized.Peek() {
			return q
		}
	}
	return nil
}

// optimizeBlocked optimizes the aggrs that p has blocked. Context: kprobe_mutex held.
func (e *Engine) optimizeBlocked(x kapi.Context, p *Aggr) {
	for q := range e.aggrsBefore(p.addr) {
		e.optimizeKprobe(x, q)
	}
}

// aggrsBefore are the aggrs whose regions hold addr after their first byte, the
// nearest first. They are looked up by address, as kernels do; without
// CONFIG_OPTPROBES there are no regions. Context: kprobe_mutex held.
func (e *Engine) aggrsBefore(addr arch.Addr) func(yield func(*Aggr) bool) {
	return func(yield func(*Aggr) bool) {
		if !e.s.Kernel.Optprobes {
			return
		}
		for d := 1; d < maxRegion; d++ {
			q, ok := e.table.Peek(addr - arch.Addr(d))
			if ok && d < q.detour.region && !yield(q) {
				return
			}
		}
	}
}

// freeAggrKprobe gives back the aggr's memory. Context: may sleep; the aggr can only be found
// by looking at all of them with kprobe_mutex held (spansOf).
func (e *Engine) freeAggrKprobe(x kapi.Context, p *Aggr) {
	e.archRemoveKprobe(x, p)
	x.Touch(p.slot.ID(), kapi.Write)
	p.freed = true
}

// archRemoveKprobe gives back the aggr's slot and detour.
func (e *Engine) archRemoveKprobe(x kapi.Context, p *Aggr) {
	if p.detour.size != 0 {
		e.d.Exec.Retire(x, p.detour.addr, p.detour.size, kpev.DetourMem)
		p.detour = detour{}
	}
	e.freeInsnSlot(x, p.slot.Peek())
	p.slot.Set(insnSlot{})
}

// RegisterAll registers probes in order (spec 6.4). The first that can't be
// registered ends it: those before it are unregistered, and its errno is
// returned. None at all is EINVAL. An edition without arrays returns EOPNOTSUPP.
// Context: may sleep.
func (e *Engine) RegisterAll(x kapi.Context, ks []*Kprobe) error {
	if !e.s.Batches {
		return EOPNOTSUPP
	}
	if len(ks) == 0 {
		return EINVAL
	}
	for i, k := range ks {
		if err := e.Register(x, k); err != nil {
			if i > 0 {
				e.do.Rollback(e, x, ks[:i])
			}
			return err
		}
	}
	return nil
}

// UnregisterAll takes probes away and waits for all of them at once (spec 6.4).
// One that isn't registered has its address cleared, the others go all the same,
// and EINVAL is returned (6.5), which the kernel doesn't tell. Context: may sleep.
func (e *Engine) UnregisterAll(x kapi.Context, ks []*Kprobe) error {
	if !e.s.Batches {
		return EOPNOTSUPP
	}
	return e.do.UnregisterKprobes(e, x, ks)
}
