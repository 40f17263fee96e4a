package kprobes

import (
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Register registers a probe at its address. It arms the probe unless the probe is flagged
// disabled or all probes are disarmed (spec 6.1, 6.3, 7.2). It returns nil or an Errno.
// Context: may sleep.
func (e *Engine) Register(x kapi.Context, p *Kprobe) error {
	e.kprobeMutex.Lock(x)
	err := e.registerKprobe(x, p)
	e.kprobeMutex.Unlock(x)
	return err
}

// registerKprobe is Register with kprobe_mutex held. A kernel checks the address, and holds its module, before it
// takes the mutex: only warn_kprobe_rereg and doRegisterKprobe are under it (6.12).
func (e *Engine) registerKprobe(x kapi.Context, p *Kprobe) error {
	if err := e.do.Register.CheckKprobeRereg(e, x, p); err != nil {
		if e.s.Kernel.Edition >= rules.Edition514 { // the address is looked up first, since 5.18 (cc66bb914578)
			e.d.Symbols.Look(x)
			if _, known := e.d.Symbols.Lookup(p.Addr); !known { // its module has gone
				return ENOENT
			}
		}
		return err
	}
	e.d.Symbols.Look(x)
	at, err := e.do.Register.KprobeAddr(e, p)
	if err != nil {
		return err
	}
	at += e.text.localEntry(x, p, at)
	p.Addr, p.entry = e.text.archAdjustKprobeAddr(x, at)
	p.Flags = e.do.Register.InitFlags(e, p)
	p.nmissed.Init(e.d.Cells, e.do.Register.InitNmissed(p))
	p.disabled.Init(e.d.Cells, p.Flags&FlagDisabled != 0)
	p.gone, p.off = false, false

	m, err := e.modules.checkKprobeAddressSafe(x, p.Addr)
	if err != nil {
		return err
	}
	err = e.doRegisterKprobe(x, p)
	if err == nil && e.s.ModuleRefs {
		p.module = m // until it is unregistered
	} else {
		e.modules.modulePut(x, m)
	}
	return err
}

// doRegisterKprobe registers a probe whose address is known, and whose text stays.
//
//	step 1: an aggr there already: join it (register_aggr_kprobe)
//	step 2: check the text, and make the copy (prepare_kprobe)
//	step 3: put the aggr into the table
//	step 4: arm it; if that fails, take it out again
//	step 5: make its detour, and queue it for the optimizer (try_to_optimize_kprobe)
//
// Context: kprobe_mutex held.
func (e *Engine) doRegisterKprobe(x kapi.Context, p *Kprobe) error {
	ap, there := e.Table.probes.Get(x, p.Addr)
	if there {
		return e.registerAggrKprobe(x, ap, p)
	}
	e.do.Arm.LockSites(e, x)
	ap, err := e.prepareKprobe(x, p.Addr, p.Post != nil)
	e.locks.unlockSites(x)
	if err != nil {
		return err
	}
	p.aggr = ap
	first := e.Table.newList()
	first.add(p)
	ap.probes.Set(first) // no CPU can have found the aggr yet
	e.Table.probes.Put(x, ap.addr, ap)
	if err := e.armEnabled(x, ap); err != nil {
		e.Table.probes.Del(x, ap.addr)
		e.d.RCU.Synchronize(x, kapi.QuiesceRCU)
		e.freeAggrKprobe(x, ap)
		p.aggr = nil
		return e.do.Register.ArmFailed(err)
	}
	e.do.Arm.LockText(e, x)
	e.do.Optimizer.PrepareOptimizedKprobe(e, x, ap)
	e.locks.unlockText(x)
	e.Optimizer.optimizeKprobe(x, ap)
	return nil
}

// registerAggrKprobe adds a probe to an existing aggr, which may be in use, or unused and waiting to be unoptimized;
// then its removal is cancelled. A jump runs no post_handler and no jprobe's entry, so it is removed before one joins
// (spec 4.9).
func (e *Engine) registerAggrKprobe(x kapi.Context, ap *Aggr, p *Kprobe) error {
	if err := e.do.Register.CheckJprobe(ap, p); err != nil {
		return err
	}
	if ap.gone {
		if err := e.modules.reviveAggr(x, ap, p.Post != nil); err != nil {
			return err
		}
	}
	if p.Post != nil || p.jp != nil {
		e.Optimizer.unoptimizeKprobeNow(x, ap)
	}
	if p.Post != nil {
		if err := e.do.Copy.Unboost(e, x, ap); err != nil {
			return err
		}
	}
	p.aggr = ap
	e.do.Register.AddNewKprobe(e, x, ap, p)
	err := e.rearm(x, ap)
	if err != nil {
		e.Table.replaceProbes(x, ap, nil, p)
		e.d.RCU.Synchronize(x, kapi.QuiesceRCU)
		p.aggr = nil
	}
	return err
}

// rearm arms an aggr that a probe has joined or whose probe was enabled, if any of its probes is enabled, and tries
// to optimize it. Context: kprobe_mutex held.
func (e *Engine) rearm(x kapi.Context, ap *Aggr) error {
	if !ap.armed.ReadOnce(x) {
		if err := e.armEnabled(x, ap); err != nil {
			return err
		}
	}
	e.Optimizer.optimizeKprobe(x, ap)
	return nil
}

// armEnabled arms an aggr unless all its probes are disabled (spec 6.3). Context:
// kprobe_mutex held.
func (e *Engine) armEnabled(x kapi.Context, ap *Aggr) error {
	if !e.do.Arm.AggrEnabled(ap) {
		return nil
	}
	return e.do.Arm.ArmKprobe(e, x, ap)
}

// replaceProbes gives the aggr a new list that includes add and omits drop. add comes first, or
// last if it belongs to a jprobe.
func (t *Table) replaceProbes(x kapi.Context, ap *Aggr, add, drop *Kprobe) {
	t.e.kprobeMutex.AssertHeld(x)
	next := t.newList()
	last := add != nil && t.do.Register.AddTail(add)
	if add != nil && !last {
		next.add(add)
	}
	for _, p := range ap.probes.Owned().probes {
		if p != drop {
			next.add(p)
		}
	}
	if last {
		next.add(add)
	}
	t.do.Register.PublishProbes(x, ap, next)
}

// Unregister removes a probe. After it has returned, none of the probe's handlers runs (spec
// 6.5, 6.7). If the probe isn't registered, its address is cleared and EINVAL is returned; the
// kernel returns no error. Context: may sleep.
func (e *Engine) Unregister(x kapi.Context, p *Kprobe) error {
	one := [1]*Kprobe{p}
	return e.unregisterKprobes(x, one[:])
}

// unregisterKprobes removes probes, with one grace period for all.
//
//	top:    disable the probes; hide them, or their aggrs, from readers
//	wait:   a grace period: no CPU is in a handler that has found one
//	bottom: free the memory that only they used
func (e *Engine) unregisterKprobes(x kapi.Context, kps []*Kprobe) (err error) {
	var gone *Aggr
	var few [4]*holder
	holders := few[:0]
	var mods [4]*kapi.Module
	modules := mods[:0]
	left := 0
	e.kprobeMutex.Lock(x)
	for _, p := range kps {
		ap := p.aggr
		if ap == nil {
			err = EINVAL
			if e.s.Batches {
				e.do.Register.ClearAddr(x, p)
			}
			continue
		}
		left++
		if p.ret != nil && p.ret.holder != nil {
			holders = append(holders, p.ret.holder)
		}
		if p.module != nil { // now: another task may register it again while this waits
			modules = append(modules, p.module)
			p.module = nil
		}
		if e.unregisterKprobeTop(x, ap, p) {
			ap.next, gone = gone, ap
		}
	}
	e.kprobeMutex.Unlock(x)
	if left == 0 {
		return err
	}

	e.do.Register.UnregisterWait(e, x, gone)

	for _, m := range modules {
		e.modules.modulePut(x, m)
	}
	if gone != nil {
		e.do.Register.UnregisterKprobeBottom(e, x, gone)
	}
	for _, rph := range holders {
		if rph.rp.holder == rph { // otherwise another task has registered it again meanwhile
			x.Mark(rph.rp.nmissed.ID(), kapi.Write)
			rph.rp.holder = nil
		}
		e.Kretprobes.cleanupRpInst(x, rph)
	}
	return err
}

// unregisterKprobeTop takes a probe from its aggr, and the aggr from the table if it was
// the last one: it reports whether the aggr is the caller's to free.
//
// A kernel disables the probe and disarms first (__disable_kprobe), and takes the probe from the
// list only if others stay or a jump still has to go; otherwise __unregister_kprobe_bottom does.
// Here it leaves the list first. Either way a hit meanwhile doesn't run its pre_handler.
// Context: kprobe_mutex held.
func (e *Engine) unregisterKprobeTop(x kapi.Context, ap *Aggr, p *Kprobe) (gone bool) {
	e.Table.replaceProbes(x, ap, nil, p)
	if e.do.Arm.AggrEnabled(ap) {
		e.Optimizer.optimizeKprobe(x, ap) // p may have prevented it
	} else if e.do.Arm.DisarmKprobe(e, x, ap) {
		if gone = ap.Unused(); gone {
			e.do.Register.HideKprobe(e, x, ap)
		}
		e.do.Optimizer.OptimizeBlocked(e, x, ap)
	}
	p.aggr = nil
	// nil if another task has unregistered it meanwhile: a kernel would follow the null pointer
	if p.ret != nil && p.ret.holder != nil {
		e.Kretprobes.rethookFree(x, p.ret.holder)
	}
	return gone
}

// unregisterKprobeBottom frees aggrs that no reader can find any more. A CPU may still be in a detour if a breakpoint
// sent it there while the aggr was queued; that is preemptible code, for which an RCU grace period isn't enough where
// there is preemption. kprobe_mutex isn't needed: the optimizer holds it while it waits for all tasks, and a task
// that can't take it can't register a probe and be given the memory that such a CPU is in. 2.6 takes it
// (arch_remove_kprobe, until 2.6.29).
func (e *Engine) unregisterKprobeBottom(x kapi.Context, gone *Aggr) {
	for ap := gone; ap != nil; ap = ap.next {
		if ap.detour.size != 0 {
			e.do.Register.SynchronizeTasks(e, x)
			break // one wait for all
		}
	}
	locked := e.s.Kernel.Edition == rules.Edition26
	if locked {
		e.kprobeMutex.Lock(x)
	}
	for ap := gone; ap != nil; ap = ap.next {
		e.freeAggrKprobe(x, ap)
	}
	if locked {
		e.kprobeMutex.Unlock(x)
	}
}

// Disable disables a probe (spec 6.6). If no probe of its aggr is enabled any more, the aggr is
// disarmed. It returns EINVAL if the probe isn't registered. Context: may sleep.
func (e *Engine) Disable(x kapi.Context, p *Kprobe) error {
	e.kprobeMutex.Lock(x)
	err := e.do.Arm.DisableKprobe(e, x, p)
	e.kprobeMutex.Unlock(x)
	return err
}

// disableKprobe is Disable with kprobe_mutex held.
func (e *Engine) disableKprobe(x kapi.Context, p *Kprobe) error {
	if !e.s.Batches {
		return EOPNOTSUPP
	}
	if p.aggr == nil {
		return EINVAL
	}
	if p.disabled.ReadOnce(x) {
		return nil // spec 6.6
	}
	p.disabled.WriteOnce(x, true)
	if !e.do.Arm.AggrEnabled(p.aggr) {
		e.do.Arm.DisarmDisabled(e, x, p.aggr)
	}
	return nil
}

// disarmDisabled disarms an aggr that has no enabled probe any more. Context: kprobe_mutex held.
func (e *Engine) disarmDisabled(x kapi.Context, ap *Aggr) {
	if e.do.Arm.DisarmKprobe(e, x, ap) {
		e.do.Optimizer.OptimizeBlocked(e, x, ap)
	}
}

// Enable undoes Disable. It returns EINVAL if the probe isn't registered, or its
// text is gone. Context: may sleep.
func (e *Engine) Enable(x kapi.Context, p *Kprobe) error {
	e.kprobeMutex.Lock(x)
	err := e.do.Arm.EnableKprobe(e, x, p)
	e.kprobeMutex.Unlock(x)
	return err
}

// enableKprobe is Enable with kprobe_mutex held.
func (e *Engine) enableKprobe(x kapi.Context, p *Kprobe) error {
	if !e.s.Batches {
		return EOPNOTSUPP
	}
	if p.aggr == nil {
		return EINVAL
	}
	if p.gone {
		return EINVAL
	}
	if !p.disabled.ReadOnce(x) {
		return nil // spec 6.6
	}
	return e.do.Arm.EnableAggr(e, x, p.aggr, p)
}

// enableAggr enables a probe that is disabled, and arms where it is. Context:
// kprobe_mutex held.
func (e *Engine) enableAggr(x kapi.Context, ap *Aggr, p *Kprobe) error {
	e.do.Arm.SetDisabled(x, p, false)
	err := e.rearm(x, ap)
	if err != nil {
		p.disabled.WriteOnce(x, true)
	}
	return err
}

// armKprobe writes the breakpoint. A probe whose jump covers the address is unoptimized first (spec 4.8). ftrace arms
// its own sites, and may refuse with EBUSY. Context: kprobe_mutex held.
func (e *Engine) armKprobe(x kapi.Context, ap *Aggr) error {
	if e.Files.kprobesAllDisarmed {
		return nil // the file enabled says 0 (spec 7.2)
	}
	return e.armKprobeNow(x, ap)
}

// armKprobeNow is armKprobe whatever the file enabled says (arm_kprobe).
func (e *Engine) armKprobeNow(x kapi.Context, ap *Aggr) error {
	if ap.verdict.Ftrace {
		return e.Ftrace.armKprobeFtrace(x, ap)
	}
	e.do.Arm.LockText(e, x)
	if q := e.do.Arm.GetOptimizedKprobe(e, ap.addr); q != nil {
		e.Optimizer.unoptimizeKprobe(x, q, true)
	}
	x.Emit(kpev.Arm, uint64(ap.addr), 0, 0)
	e.do.Arm.ArchArmKprobe(e, x, ap)
	ap.armed.WriteOnce(x, true)
	e.locks.unlockText(x)
	return nil
}

// disarmKprobe restores the original byte. If a jump has to be removed first, it queues that
// for the optimizer instead. It reports whether the aggr is disarmed. Context: kprobe_mutex held.
func (e *Engine) disarmKprobe(x kapi.Context, ap *Aggr) bool {
	if ap.client != nil {
		e.do.Gone.DisarmKprobeFtrace(e, x, ap)
		return true
	}
	e.do.Arm.LockText(e, x)
	e.Optimizer.unoptimizeKprobe(x, ap, false)
	done := ap.list == nil
	if done && ap.armed.ReadOnce(x) {
		e.archDisarmKprobe(x, ap)
	}
	e.locks.unlockText(x)
	return done
}

// getOptimizedKprobe returns the aggr whose region holds addr after its first byte, if it is optimized or queued for
// it. Context: kprobe_mutex held.
func (t *Table) getOptimizedKprobe(addr arch.Addr) *Aggr {
	for q := range t.aggrsBefore(addr) {
		if q.optimized.Owned() {
			return q
		}
	}
	return nil
}

// optimizeBlocked optimizes the aggrs that ap has blocked. Context: kprobe_mutex held.
func (o *Optimizer) optimizeBlocked(x kapi.Context, ap *Aggr) {
	for q := range o.e.Table.aggrsBefore(ap.addr) {
		o.optimizeKprobe(x, q)
	}
}

// aggrsBefore yields the aggrs whose regions hold addr after their first byte, the nearest first. They are looked up
// by address, as kernels do; without CONFIG_OPTPROBES there are no regions. Context: kprobe_mutex held.
func (t *Table) aggrsBefore(addr arch.Addr) func(yield func(*Aggr) bool) {
	return func(yield func(*Aggr) bool) {
		if !t.s.Kernel.Optprobes {
			return
		}
		for d := 1; d < maxRegion; d++ {
			q, ok := t.probes.Owned(addr - arch.Addr(d))
			if ok && d < q.detour.region && !yield(q) {
				return
			}
		}
	}
}

// freeAggrKprobe frees the aggr's memory. Context: may sleep; the aggr can only be found by walking all of them with
// kprobe_mutex held (spansOf).
func (e *Engine) freeAggrKprobe(x kapi.Context, ap *Aggr) {
	e.archRemoveKprobe(x, ap)
	x.Mark(ap.slot.ID(), kapi.Write)
	ap.freed = true
}

// RegisterAll registers probes in order (spec 6.4). The first that can't be
// registered ends it: those before it are unregistered, and its errno is
// returned. None at all is EINVAL. An edition without arrays returns EOPNOTSUPP.
// Context: may sleep.
func (e *Engine) RegisterAll(x kapi.Context, kps []*Kprobe) error {
	if !e.s.Batches {
		return EOPNOTSUPP
	}
	if len(kps) == 0 {
		return EINVAL
	}
	return e.do.Register.RegisterKprobes(e, x, kps)
}

// registerKprobes is RegisterAll of one or more.
func (e *Engine) registerKprobes(x kapi.Context, kps []*Kprobe) error {
	for i, p := range kps {
		if err := e.Register(x, p); err != nil {
			if i > 0 {
				e.do.Register.Rollback(e, x, kps[:i])
			}
			return err
		}
	}
	return nil
}

// UnregisterAll removes probes and waits for all of them at once (spec 6.4). A probe that isn't
// registered has its address cleared; the others are still removed, and EINVAL is returned
// (6.5). The kernel returns no error. Context: may sleep.
func (e *Engine) UnregisterAll(x kapi.Context, kps []*Kprobe) error {
	if !e.s.Batches {
		return EOPNOTSUPP
	}
	return e.do.Register.UnregisterKprobes(e, x, kps)
}
