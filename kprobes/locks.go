package kprobes

import (
	"kpsim/kprobes/era"
	"kpsim/smp/kapi"
)

// The order in which locks are taken. kprobe_mutex comes first. Registration, which examines
// text, takes jump_label_mutex under it, and then cpu_hotplug_lock and text_mutex, which
// arming and disarming take, too. The optimizer takes, by era:
//
//	OrderText    cpu_hotplug_lock, text_mutex        for a whole run
//	OrderModule  cpu_hotplug_lock, module_mutex      for a whole run; text_mutex a step
//	OrderStep    module_mutex                        for a whole run; cpu_hotplug_lock, text_mutex a step

// textLocks takes the locks under which text is written and examined.
type textLocks struct {
	*env `state:"boot"` // set at New
}

// lockRun takes the locks that a whole run of the optimizer holds. Context: kprobe_mutex held.
func (o *Optimizer) lockRun(x kapi.Context) {
	switch o.s.Order {
	case era.OrderText:
		o.do.Arm.LockText(o.e, x)
	case era.OrderModule:
		o.d.Hotplug.ReadLock(x)
		o.e.locks.lockModules(x)
	case era.OrderStep:
		o.e.locks.lockModules(x)
	}
}

func (o *Optimizer) unlockRun(x kapi.Context) {
	switch o.s.Order {
	case era.OrderText:
		o.e.locks.unlockText(x)
	case era.OrderModule:
		o.e.locks.unlockModules(x)
		o.d.Hotplug.ReadUnlock(x)
	case era.OrderStep:
		o.e.locks.unlockModules(x)
	}
}

// lockStep takes the additional locks of a step that writes text.
func (o *Optimizer) lockStep(x kapi.Context) {
	switch o.s.Order {
	case era.OrderText:
	case era.OrderModule:
		o.d.Text.Mutex().Lock(x)
	case era.OrderStep:
		o.do.Arm.LockText(o.e, x)
	}
}

func (o *Optimizer) unlockStep(x kapi.Context) {
	switch o.s.Order {
	case era.OrderText:
	case era.OrderModule:
		o.d.Text.Mutex().Unlock(x)
	case era.OrderStep:
		o.e.locks.unlockText(x)
	}
}

// lockText takes the locks for writing text: cpu_hotplug_lock, then text_mutex. Kernels until
// 4.12 took text_mutex first where they armed a probe and where they forced a jump away. A
// CPU that goes on- or offline holds the first and waits for the second: a deadlock (R16).
func (l *textLocks) lockText(x kapi.Context) {
	l.d.Hotplug.ReadLock(x)
	l.d.Text.Mutex().Lock(x)
}

func (l *textLocks) unlockText(x kapi.Context) {
	l.d.Text.Mutex().Unlock(x)
	l.d.Hotplug.ReadUnlock(x)
}

// lockSites takes the locks for examining text: jump_label_mutex, so that no jump label
// changes meanwhile, then the locks of lockText. Switching a label also takes jump_label_mutex
// before text_mutex. Kernels of 2.6.37-rc took the two in the other order here, and deadlocked
// with a switch (R17).
func (l *textLocks) lockSites(x kapi.Context) {
	l.lockLabels(x)
	l.do.Arm.LockText(l.e, x)
}

func (l *textLocks) unlockSites(x kapi.Context) {
	l.unlockText(x)
	if l.d.LabelMutex != nil {
		l.d.LabelMutex.Unlock(x)
	}
}

func (l *textLocks) lockLabels(x kapi.Context) {
	if l.d.LabelMutex != nil {
		l.d.LabelMutex.Lock(x)
	}
}

// lockModules prevents modules from being loaded and unloaded, if there are any.
func (l *textLocks) lockModules(x kapi.Context) {
	if l.d.ModuleMutex != nil {
		l.d.ModuleMutex.Lock(x)
	}
}

func (l *textLocks) unlockModules(x kapi.Context) {
	if l.d.ModuleMutex != nil {
		l.d.ModuleMutex.Unlock(x)
	}
}

// Owned folds the data that kprobe_mutex owns into one word, which changes only while a task
// holds the mutex. For memory kept for the next run, and for results of examining text, it
// includes how much is in use but not the contents. It allocates nothing. Context:
// kprobe_mutex held.
func (e *Engine) Owned() uint64 {
	var s owned
	t := &e.Rethook
	s.add(bit(e.Optimizer.kprobesAllowOptimization, 0) | bit(e.Files.kprobesAllDisarmed, 1) | bit(e.modules.held,
		2) | uint64(e.Table.lists)<<3 | uint64(len(e.Table.aggrs))<<32)
	s.add(uint64(e.Ftrace.kprobeFtraceOps.armed) | uint64(e.Ftrace.kprobeIpmodifyOps.armed)<<32)
	s.add(uint64(e.Kretprobes.nInstances) | uint64(e.Kretprobes.nHolders)<<32)
	s.add(e.Kretprobes.memories)
	s.aggr(e, &t.nopAggr)
	s.kprobe(&t.nop)
	for _, ap := range e.Table.aggrs {
		s.aggr(e, ap)
		if c := ap.probes.Owned(); c != nil { // otherwise it is being registered
			for _, p := range c.probes {
				s.kprobe(p)
			}
		}
	}
	return uint64(s)
}

type owned uint64

func (s *owned) add(v uint64) {
	x := (uint64(*s) ^ v) * 0x9e3779b97f4a7c15
	*s = owned(x ^ x>>29)
}

// bit returns 1<<n if on, otherwise 0.
func bit(on bool, n int) uint64 {
	b := uint8(0)
	if on {
		b = 1
	}
	return uint64(b) << n
}

func (s *owned) kprobe(p *Kprobe) {
	s.add(bit(p.entry, 0) | bit(p.gone, 1) | bit(p.off, 2) | p.ID<<3)
	if p.aggr != nil {
		s.add(p.aggr.id)
	}
}

func (s *owned) aggr(e *Engine, ap *Aggr) {
	of := bit(ap.client == &e.Ftrace.kprobeFtraceOps, 2) | bit(ap.client == &e.Ftrace.kprobeIpmodifyOps, 3)
	on := bit(ap.list == &e.Optimizer.optimizingList, 4) | bit(ap.list == &e.Optimizer.unoptimizingList,
		5) | bit(ap.list == &e.Optimizer.freeingList, 6)
	s.add(bit(ap.jumped, 0) | bit(ap.gone, 1) | of | on | ap.id<<7)
	s.add(ap.Note)
}
