package kprobes

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// modules follows modules that are loaded and unloaded (kprobes_module_nb).
type modules struct {
	*env `state:"boot"` // set at New
	// owned by kprobe_mutex: the module of the probe being registered is held, or was found
	held     bool
	onModule kapi.ModuleNotifier `state:"boot"` // set at New
}

// checkKprobeAddressSafe finds the module that addr is in and holds it while a probe is registered there, so that it
// isn't unloaded meanwhile. nil is the kernel itself. Init text can be probed while its module is coming;
// kprobesModuleCallback, which waits for kprobe_mutex, handles its removal. It returns ENOENT if the text is about to
// go. Context: kprobe_mutex held.
//
// Kernels check this before they take kprobe_mutex, so init text may be freed in between (mutant check-unlocked).
func (mo *modules) checkKprobeAddressSafe(x kapi.Context, addr arch.Addr) (m *kapi.Module, err error) {
	if mo.d.Modules == nil {
		return nil, nil
	}
	m, err = mo.do.Register.TryModuleGet(mo.e, x, addr)
	mo.held = m != nil
	return m, err
}

// tryModuleGet is checkKprobeAddressSafe where there are modules.
func (mo *modules) tryModuleGet(x kapi.Context, addr arch.Addr) (*kapi.Module, error) {
	ms := mo.d.Modules
	m := ms.Find(x, addr)
	if m == nil {
		return nil, nil // if its module has just gone, checkKprobeAddress refuses the address
	}
	if !ms.Get(x, m) {
		return nil, ENOENT
	}
	if m.Init.Has(addr) && ms.State(x, m) != kapi.ModuleComing {
		mo.modulePut(x, m)
		return nil, ENOENT
	}
	return m, nil
}

// modulePut undoes tryModuleGet.
func (mo *modules) modulePut(x kapi.Context, m *kapi.Module) {
	if m != nil {
		mo.d.Modules.Put(x, m)
	}
}

// kprobesModuleCallback handles a change of a module's state. Probes in the init section become
// gone when the module is live, and all its probes when it is going. Context: may sleep; takes
// kprobe_mutex.
func (mo *modules) kprobesModuleCallback(x kapi.Context, m *kapi.Module, s kapi.ModuleState) {
	if s != kapi.ModuleLive && s != kapi.ModuleGoing {
		return
	}
	mo.e.kprobeMutex.Lock(x)
	for _, ap := range mo.e.Table.aggrs {
		if !m.Init.Has(ap.addr) && (s != kapi.ModuleGoing || !m.Core.Has(ap.addr)) {
			continue
		}
		if mo.do.Gone.InTable(mo.e, ap) { // others belong to the task that waits to free them
			mo.do.Gone.KillKprobe(mo.e, x, ap)
		}
	}
	mo.e.kprobeMutex.Unlock(x)
}

// killKprobe makes the probes of an aggr gone: no CPU runs its text any more, which is
// about to be freed and isn't written to. They stay in the table and the list
// until they are unregistered, and are silent. An aggr without probes that waits
// for the optimizer is left to it. Context: kprobe_mutex held.
//
//	step 1: ftrace forgets the site, as long as it has it
//	step 2: the flags; off the optimizer's lists
//	step 3: free the slot and the detour
func (mo *modules) killKprobe(x kapi.Context, ap *Aggr) {
	mo.e.kprobeMutex.AssertHeld(x)
	if ap.gone { // first its init section went, now the rest
		return
	}
	if ap.client != nil {
		mo.do.Gone.DisarmKprobeFtrace(mo.e, x, ap)
	}

	ap.gone = true
	for _, p := range ap.probes.Owned().probes {
		if p.gone { // it went with an earlier module's text
			continue
		}
		p.gone, p.off = true, p.disabled.Owned()
		p.disabled.WriteOnce(x, true)
	}
	ap.armed.WriteOnce(x, false)
	ap.jumped = false
	ap.optimized.WriteOnce(x, false)
	if ap.Unused() {
		mo.do.Gone.KillUnused(mo.e, x, ap)
	} else {
		mo.e.Optimizer.enlist(x, ap, nil)
	}
	mo.e.archRemoveKprobe(x, ap)
}

// killUnused handles an aggr without probes that waits for the optimizer when its text goes.
// The optimizer frees it, because no task will unregister it again. It can't be found any
// more: a probe registered after text is loaded there again gets a new aggr. Context:
// kprobe_mutex held.
func (mo *modules) killUnused(x kapi.Context, ap *Aggr) {
	mo.do.Register.HideKprobe(mo.e, x, ap)
	mo.e.Optimizer.enlist(x, ap, &mo.e.Optimizer.freeingList)
	mo.e.Optimizer.kickKprobeOptimizer(x)
}

// reviveAggr remakes an aggr whose text went, for a probe registered after text was loaded
// there again. The probes that went with the old text stay gone. If the text refuses probes,
// it returns an Errno and leaves the aggr unchanged.
// Context: kprobe_mutex held.
func (mo *modules) reviveAggr(x kapi.Context, ap *Aggr, post bool) error {
	mo.do.Arm.LockSites(mo.e, x)
	v, code, err := mo.e.text.checkKprobeAddress(x, ap.addr)
	if err == nil {
		err = mo.e.archPrepareKprobe(x, ap, v, code, post)
	}
	mo.e.locks.unlockSites(x)
	if err != nil {
		return err
	}
	ap.gone = false
	mo.do.Arm.LockText(mo.e, x)
	mo.do.Optimizer.PrepareOptimizedKprobe(mo.e, x, ap)
	mo.e.locks.unlockText(x)
	return nil
}
