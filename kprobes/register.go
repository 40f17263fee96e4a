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
	err := e.register(x, k)
	e.mutex.Unlock(x)
	return err
}

// register is Register with kprobe_mutex held.
func (e *Engine) register(x kapi.Context, k *Kprobe) error {
	if k.point != nil && !e.s.Mutants.TakeTwice {
		return EINVAL
	}
	if e.s.Mutants.ReregUnlocked {
		e.mutex.Unlock(x)
		x.Step("warn_kprobe_rereg", 1)
		e.mutex.Lock(x)
	}
	e.d.Symbols.Look(x)
	at, err := e.resolve(k)
	if err != nil {
		return err
	}
	k.Addr, k.entry = e.behindEndbr(x, at)
	if !e.s.Mutants.KeepFlags {
		k.Flags &= FlagDisabled
	}
	if !e.s.Batches || e.s.Mutants.ArmDisabled { // the flag is of the same age
		k.Flags &^= FlagDisabled
	}
	missed := 0
	if e.s.Mutants.KeepMissed {
		missed = k.Missed()
	}
	k.missed.Init(e.d.Cells, missed)
	k.disabled.Init(e.d.Cells, k.Flags&FlagDisabled != 0)
	k.gone, k.off = false, false

	m, err := e.hold(x, k.Addr)
	if err != nil {
		return err
	}
	err = e.registerAt(x, k)
	if err == nil && e.s.ModuleRefs {
		k.module = m // until it is unregistered
	} else {
		e.letGo(x, m)
	}
	return err
}

// registerAt is register of a probe whose address is known, and whose text stays.
func (e *Engine) registerAt(x kapi.Context, k *Kprobe) error {
	p, there := e.table.Get(x, k.Addr)
	if there {
		return e.join(x, p, k)
	}
	e.lockSites(x)
	p, err := e.prepare(x, k.Addr, k.Post != nil)
	e.unlockSites(x)
	if err != nil {
		return err
	}
	k.point = p
	first := e.newChain()
	first.probes = append(first.probes, k)
	p.probes.Set(first)
	e.table.Put(x, p.addr, p)
	if err := e.armEnabled(x, p); err != nil {
		e.table.Del(x, p.addr)
		e.d.RCU.Synchronize(x, kapi.QuiesceRCU)
		e.free(x, p)
		k.point = nil
		return err
	}
	e.lockText(x)
	e.prepareDetour(x, p)
	e.unlockText(x)
	e.optimize(x, p)
	return nil
}

// join adds a probe to a point that is there: in use, or unused and waiting to
// be unoptimized, whose removal it cancels. A jump runs no post_handler and no
// jprobe's entry, so it is taken away before one joins (spec 4.9).
func (e *Engine) join(x kapi.Context, p *point, k *Kprobe) error {
	if k.jp != nil && p.hasJprobe() && !e.s.Mutants.TwoJprobes {
		return EEXIST
	}
	if p.gone {
		if err := e.revive(x, p, k.Post != nil); err != nil {
			return err
		}
	}
	if k.Post != nil || k.jp != nil {
		e.unoptimize(x, p)
	}
	if k.Post != nil {
		if err := e.unboost(x, p); err != nil {
			return err
		}
	}
	k.point = p
	if e.s.Mutants.ReuseDisabled && p.list == &e.unoptimizing && p.unused() {
		e.enlist(x, p, nil)
		p.reused = true
	}
	e.replace(x, p, k, nil)
	p.shared = true
	p.silent = p.silent && k.disabled.Peek()
	err := e.rearm(x, p)
	if err != nil {
		e.replace(x, p, nil, k)
		e.d.RCU.Synchronize(x, kapi.QuiesceRCU)
		k.point = nil
	}
	return err
}

// rearm arms a point that was joined or of which a probe was enabled, if a probe
// of it is enabled, and tries to optimize it. Context: kprobe_mutex held.
func (e *Engine) rearm(x kapi.Context, p *point) error {
	if !p.armed.Load(x) {
		if err := e.armEnabled(x, p); err != nil {
			return err
		}
	}
	e.optimize(x, p)
	return nil
}

// armEnabled arms a point unless all its probes are disabled (spec 6.3). Context:
// kprobe_mutex held.
func (e *Engine) armEnabled(x kapi.Context, p *point) error {
	if !p.enabled() {
		return nil
	}
	return e.arm(x, p)
}

// replace gives the point a new chain: with add first, or last if it is a
// jprobe's, without drop.
func (e *Engine) replace(x kapi.Context, p *point, add, drop *Kprobe) {
	e.mutex.AssertHeld(x)
	next := e.newChain()
	last := add != nil && (add.jp != nil || e.s.Mutants.OldestFirst)
	if add != nil && !last {
		next.probes = append(next.probes, add)
	}
	if add != nil && add.Post != nil {
		p.posted = true
	}
	for _, k := range p.probes.Peek().probes {
		if k != drop {
			next.probes = append(next.probes, k)
		}
	}
	if last {
		next.probes = append(next.probes, add)
	}
	if e.s.Mutants.SwapInTwo {
		p.probes.Store(x, e.newChain())
	}
	p.probes.Store(x, next)
}

// Unregister takes a probe away: when it returns none of its handlers runs
// again (spec 6.5, 6.7). One that isn't registered has its address cleared, and
// EINVAL is returned, which the kernel doesn't tell. Context: may sleep.
func (e *Engine) Unregister(x kapi.Context, k *Kprobe) error {
	one := [1]*Kprobe{k}
	return e.unregister(x, one[:])
}

// unregister takes probes away, with one grace period for all.
//
//	top:    disable the probes; take them, or their points, out of what readers find
//	wait:   a grace period: no CPU is in a handler that has found one
//	bottom: free what only those could use
func (e *Engine) unregister(x kapi.Context, ks []*Kprobe) (err error) {
	var gone *point
	var few [4]*holder
	holders := few[:0]
	var mods [4]*kapi.Module
	modules := mods[:0]
	left := 0
	e.mutex.Lock(x)
	for _, k := range ks {
		p := k.point
		if p == nil {
			err = EINVAL
			if e.s.Batches && !e.s.Mutants.KeepAddr {
				k.Addr = 0
			}
			continue
		}
		left++
		if k.ret != nil && k.ret.holder != nil {
			holders = append(holders, k.ret.holder)
		}
		if k.module != nil { // now, for somebody may register it again while this waits
			modules = append(modules, k.module)
			k.module = nil
		}
		if e.takeOut(x, p, k) {
			p.next, gone = gone, p
		}
	}
	e.mutex.Unlock(x)
	if left == 0 {
		return err
	}

	if e.s.Mutants.FreeFirst && gone != nil {
		e.discard(x, gone)
		gone = nil
	}
	if !e.s.Mutants.NoGrace && (gone != nil || !e.s.Mutants.SharedNoGrace) {
		e.d.RCU.Synchronize(x, kapi.QuiesceRCU)
	}

	for _, m := range modules {
		e.letGo(x, m)
	}
	if gone != nil {
		e.discard(x, gone)
	}
	for _, h := range holders {
		if h.rp.holder == h { // else somebody has registered it again meanwhile
			x.Touch(h.rp.missed.ID(), kapi.Write)
			h.rp.holder = nil
		}
		e.forget(x, h)
	}
	return err
}

// takeOut takes a probe from its point, and the point from the table if it was
// the last one: it reports whether the point is the caller's to discard. Context:
// kprobe_mutex held.
func (e *Engine) takeOut(x kapi.Context, p *point, k *Kprobe) (gone bool) {
	e.replace(x, p, nil, k)
	if e.s.Mutants.HideFirst && p.unused() {
		e.table.Del(x, p.addr)
	}
	if p.enabled() {
		e.optimize(x, p) // k may have been what kept it from that
	} else if e.disarm(x, p) {
		if gone = p.unused(); gone {
			e.table.Del(x, p.addr)
		}
		e.retry(x, p)
	}
	k.point = nil
	if k.ret != nil && k.ret.holder != nil { // with ReRegister somebody may have dropped it: a kernel would follow a null pointer
		e.stopHolder(x, k.ret.holder)
	}
	return gone
}

// discard frees points that no reader can find any more. A CPU may still be in
// a detour if a breakpoint sent it there while the point was queued: code that
// can be preempted, for which an RCU grace period is not enough where there is
// preemption. kprobe_mutex isn't needed, which the optimizer holds while it waits for
// all tasks: what such a CPU stands in can go while nobody can register a probe and
// be handed it. 2.6 takes it (arch_remove_kprobe, until 2.6.29).
func (e *Engine) discard(x kapi.Context, gone *point) {
	for p := gone; p != nil; p = p.next {
		if p.detour.size != 0 && !e.s.Mutants.CancelRCU {
			e.d.RCU.Synchronize(x, kapi.QuiesceTasks)
			break // one wait for all
		}
	}
	locked := e.s.Kernel.Edition == rules.Edition26
	if locked {
		e.mutex.Lock(x)
	}
	for p := gone; p != nil; p = p.next {
		e.free(x, p)
	}
	if locked {
		e.mutex.Unlock(x)
	}
}

// Disable silences a probe (spec 6.6); if none of its point is left the point
// is disarmed. It returns EINVAL if the probe isn't registered. Context: may sleep.
func (e *Engine) Disable(x kapi.Context, k *Kprobe) error {
	e.mutex.Lock(x)
	err := e.disable(x, k)
	e.mutex.Unlock(x)
	return err
}

// disable is Disable with kprobe_mutex held.
func (e *Engine) disable(x kapi.Context, k *Kprobe) error {
	if !e.s.Batches {
		return EOPNOTSUPP
	}
	if k.point == nil {
		return e.notRegistered()
	}
	if k.disabled.Load(x) {
		return e.again()
	}
	k.disabled.Store(x, true)
	if !k.point.enabled() && (!e.s.Mutants.JumpKept || !k.point.jumped) && e.disarm(x, k.point) {
		e.retry(x, k.point)
	}
	return nil
}

// Enable undoes Disable. It returns EINVAL if the probe isn't registered, or its
// text is gone. Context: may sleep.
func (e *Engine) Enable(x kapi.Context, k *Kprobe) error {
	e.mutex.Lock(x)
	err := e.enable(x, k)
	e.mutex.Unlock(x)
	return err
}

// enable is Enable with kprobe_mutex held.
func (e *Engine) enable(x kapi.Context, k *Kprobe) error {
	if !e.s.Batches {
		return EOPNOTSUPP
	}
	if k.point == nil {
		return e.notRegistered()
	}
	if k.gone {
		return EINVAL
	}
	if !k.disabled.Load(x) {
		return e.again()
	}
	p := k.point
	if e.disarmed && e.s.Mutants.EnableLost {
		if p.shared {
			p.silent = p.silent || !p.enabled()
			k.disabled.Store(x, false)
		}
		return nil
	}
	p.silent = false
	k.disabled.Store(x, false)
	err := e.rearm(x, p)
	if err != nil {
		k.disabled.Store(x, true)
	}
	return err
}

// notRegistered is what disabling and enabling answer to a probe that isn't.
func (e *Engine) notRegistered() error {
	if e.s.Mutants.ToggleAny {
		return nil
	}
	return EINVAL
}

// again is what they answer to a probe that is so already (spec 6.6).
func (e *Engine) again() error {
	if e.s.Mutants.ToggleOnce {
		return EINVAL
	}
	return nil
}

var int3 = [...]byte{x86.Int3}

// arm writes the breakpoint. A probe whose jump covers the address gives way
// first (spec 4.8). A site of ftrace is armed by that, which may refuse it: EBUSY.
// Context: kprobe_mutex held.
func (e *Engine) arm(x kapi.Context, p *point) error {
	if e.disarmed && !e.s.Mutants.ArmDisarmed {
		return nil // the file enabled says 0 (spec 7.2)
	}
	if p.verdict.Ftrace {
		return e.armFtrace(x, p)
	}
	e.lockText(x)
	if q := e.covering(p.addr); q != nil && !e.s.Mutants.ArmOver {
		e.unoptimizeLocked(x, q, true)
	}
	x.Emit(kpev.Arm, uint64(p.addr), 0, 0)
	e.d.Text.Poke(x, p.addr, int3[:])
	if e.s.Mutants.SaveArmed {
		e.d.Text.Read(x, p.addr, p.orig[:1])
	}
	e.d.Sync.Core(x, kpev.SyncArm)
	p.armed.Store(x, true)
	e.unlockText(x)
	return nil
}

// disarm puts the original byte back, or queues that for the optimizer, which
// has to take a jump away first. It reports whether it is done. Context:
// kprobe_mutex held.
func (e *Engine) disarm(x kapi.Context, p *point) bool {
	if p.client != nil {
		e.disarmFtrace(x, p)
		return true
	}
	e.lockText(x)
	e.unoptimizeLocked(x, p, false)
	done := p.list == nil
	if done && p.armed.Load(x) {
		e.restore(x, p)
	}
	e.unlockText(x)
	return done
}

// restore writes the original first byte. Context: text_mutex held.
func (e *Engine) restore(x kapi.Context, p *point) {
	x.Emit(kpev.Disarm, uint64(p.addr), 0, 0)
	if !e.s.Mutants.NoRestore {
		e.d.Text.Poke(x, p.addr, p.orig[:1])
	}
	e.d.Sync.Core(x, kpev.SyncDisarm)
	p.armed.Store(x, false)
}

// covering returns the point whose region holds addr behind its first byte,
// and that is optimized or to be. Context: kprobe_mutex held.
func (e *Engine) covering(addr arch.Addr) *point {
	for q := range e.before(addr) {
		if q.optimized.Peek() {
			return q
		}
	}
	return nil
}

// retry optimizes the points that p has blocked. Context: kprobe_mutex held.
func (e *Engine) retry(x kapi.Context, p *point) {
	if e.s.Mutants.NoRetry {
		return
	}
	for q := range e.before(p.addr) {
		e.optimize(x, q)
	}
}

// before are the points whose regions hold addr behind their first byte, the
// nearest first. They are looked up by address, as kernels do; without
// CONFIG_OPTPROBES there are no regions. Context: kprobe_mutex held.
func (e *Engine) before(addr arch.Addr) func(yield func(*point) bool) {
	return func(yield func(*point) bool) {
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

// free gives back the point's memory. Context: may sleep; nobody can find the point
// but who looks at all of them, with kprobe_mutex held (spansOf).
func (e *Engine) free(x kapi.Context, p *point) {
	e.freeCode(x, p)
	x.Touch(p.slot.ID(), kapi.Write)
	p.freed = true
}

// freeCode gives back the point's slot and detour.
func (e *Engine) freeCode(x kapi.Context, p *point) {
	if p.detour.size != 0 {
		e.d.Exec.Retire(x, p.detour.addr, p.detour.size, kpev.DetourMem)
		p.detour = detour{}
	}
	e.freeSlot(x, p.slot.Peek())
	p.slot.Set(slot{})
}
