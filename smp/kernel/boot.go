package kernel

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// BootMutex implements kapi.Boot.
func (k *Kernel) BootMutex(name string) kapi.Mutex { return k.Locks.bootMutex(name) }

// BootBind implements kapi.Boot.
func (k *Kernel) BootBind(name string, f kapi.Routine) arch.Addr { return k.M.Bind(name, f) }

// AddSite implements kapi.Boot.
func (k *Kernel) AddSite(s kapi.Site) { k.Symbols.AddSite(s) }

// Present implements kapi.Boot.
func (k *Kernel) Present(addr arch.Addr) bool {
	m := k.Modules.holding(addr)
	return m == nil || m.boot && m.Core.Has(addr)
}

// OnSections implements kapi.Boot.
func (k *Kernel) OnSections(h kapi.SectionHandler) { k.onSections = append(k.onSections, h) }

// OnReset implements kapi.Boot.
func (k *Kernel) OnReset(f func()) { k.onReset = append(k.onReset, f) }

// section tells clients of a module's section.
func (k *Kernel) section(x kapi.Context, in kapi.Section, here bool) {
	for _, h := range k.onSections {
		h(x, in, here)
	}
}
