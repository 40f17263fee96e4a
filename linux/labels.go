package linux

import (
	"kpsim/engine/jumplabel"
	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Jump labels of a scenario. Each has a struct static_key and a row of a jump table, as the
// linker and jump_label_init would have left them. The kernel's own code switches them.

// The tables of jump labels, static calls and ftrace lie at these distances before the kernel's
// text. The kernel walks rows inside its own tables up to the tables' ends; it walks rows that
// lie before its tables until the key changes.
const (
	nearBelow = 1 << 20
	nearSize  = 48 * page
	labelStep = 64 // the bytes of a row, a row of zeros that ends the walk, and the key
	keyAt     = 32 // the offset of the key from the row
)

// The parts of that memory: labels, static calls, ftrace's records, and the tables of modules.
const (
	callsAt        = 8 * page
	recordsAt      = 16 * page
	moduleLabelsAt = 32 * page
	moduleCallsAt  = 40 * page
	mostLabels     = callsAt / labelStep
)

// labelParts are the parts of jump labels that the engine uses.
type labelParts struct {
	enable, disable   arch.Addr // static_key_enable, static_key_disable; 0: the kernel has no labels
	notify            arch.Addr // jump_label_module_notify
	step              arch.Addr // the size of a struct jump_entry
	code, target, key field     // of struct jump_entry
	rows              field     // of struct static_key: where its rows begin
}

// near returns the address of the tables.
func (k *Kernel) near() arch.Addr { return k.text.at - nearBelow }

// findLabels looks up the parts of jump labels. It finds all of them or none.
func (k *Kernel) findLabels() {
	l := labelParts{enable: k.at("static_key_enable"), disable: k.at("static_key_disable"),
		notify: k.at("jump_label_module_notify")}
	step, _ := k.Image.Types().Size("jump_entry")
	l.step = arch.Addr(step)
	ok := l.enable != 0 && l.disable != 0
	l.code, ok = part(k.Image.Types(), "jump_entry", "code", ok)
	l.target, ok = part(k.Image.Types(), "jump_entry", "target", ok)
	l.key, ok = part(k.Image.Types(), "jump_entry", "key", ok)
	l.rows, ok = part(k.Image.Types(), "static_key", "entries", ok)
	if ok {
		k.labels = l
	}
}

// part finds a member of a struct. It returns false if the struct has none, or if was is false.
func part(t *vmlinux.Types, name, member string, was bool) (field, bool) {
	off, size, ok := t.Off(name, member)
	return field{off, size}, ok && was
}

// layLabels writes the tables' rows and the keys, all of them off.
func (pa *patched) layLabels() {
	l, g := &pa.k.labels, pa.d.Guest
	if pa.d.Labels == nil || l.enable == 0 {
		return
	}
	for i, label := range pa.d.Labels.All() {
		if i == mostLabels {
			return
		}
		at, _, _ := label.Images()
		if pa.e.modules.holds(at) >= 0 {
			continue // the key has no rows until the module comes
		}
		row, key := pa.label(i)
		pa.layLabel(row, key, label)
		g.Put(key+arch.Addr(l.rows.off), l.rows.size, uint64(row))
	}
}

// label returns where a label's row in the kernel's own table lies, and its key.
func (pa *patched) label(i int) (row, key arch.Addr) {
	row = pa.k.near() + arch.Addr(i*labelStep)
	return row, row + keyAt
}

// layLabel writes a row.
func (pa *patched) layLabel(row, key arch.Addr, label *jumplabel.Label) {
	l := &pa.k.labels
	at, _, _ := label.Images()
	pa.putRelative(row, l.code, at)
	pa.putRelative(row, l.target, label.Target())
	pa.putRelative(row, l.key, key)
}

// layModuleLabels writes the table of a module that comes, as it lies in the module's file: the kernel sorts it, and
// marks the rows of init text.
func (pa *patched) layModuleLabels(module int) (from arch.Addr, n int) {
	l := &pa.k.labels
	if pa.d.Labels == nil || l.enable == 0 || l.step == 0 || module < 0 {
		return 0, 0
	}
	from = pa.k.near() + moduleLabelsAt
	for i, label := range pa.d.Labels.All() {
		at, _, _ := label.Images()
		switch in := pa.e.modules.holds(at); {
		case in < 0 || in > module || i >= mostLabels: // 8 pages have room for mostLabels rows
		case in < module:
			from += l.step
		default:
			_, key := pa.label(i)
			pa.layLabel(from+arch.Addr(n)*l.step, key, label)
			n++
		}
	}
	return from, n
}

// putRelative writes an address as its distance from the member that holds it.
func (e *env) putRelative(at arch.Addr, f field, to arch.Addr) {
	at += arch.Addr(f.off)
	e.d.Guest.Put(at, f.size, uint64(to-at))
}

// SetLabel implements engine.Patcher.
func (pa *patched) SetLabel(x kapi.Context, label int, on bool) (done bool) {
	if pa.k.labels.enable == 0 || label >= mostLabels {
		return false
	}
	f := pa.k.labels.disable
	if on {
		f = pa.k.labels.enable
	}
	_, key := pa.label(label)
	pa.call(x, f, uint64(key))
	return true
}
