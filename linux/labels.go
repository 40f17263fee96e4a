package linux

import (
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
	nearSize  = 32 * page
	labelStep = 64 // the bytes of a row, a row of zeros that ends the walk, and the key
	keyAt     = 32 // the offset of the key from the row
)

// The parts of that memory: labels, static calls, and ftrace's records.
const (
	callsAt    = 8 * page
	recordsAt  = 16 * page
	mostLabels = callsAt / labelStep
)

// labelParts are the parts of jump labels that the engine uses.
type labelParts struct {
	enable, disable   arch.Addr // static_key_enable, static_key_disable; 0: the kernel has no labels
	code, target, key field     // of struct jump_entry
	rows              field     // of struct static_key: where its rows begin
}

// near returns the address of the tables.
func (k *Kernel) near() arch.Addr { return k.text.at - nearBelow }

// findLabels looks up the parts of jump labels. It finds all of them or none.
func (k *Kernel) findLabels() {
	l := labelParts{enable: k.at("static_key_enable"), disable: k.at("static_key_disable")}
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
		row := pa.k.near() + arch.Addr(i*labelStep)
		key := row + keyAt
		at, _, _ := label.Images()
		pa.putRelative(row, l.code, at)
		pa.putRelative(row, l.target, label.Target())
		pa.putRelative(row, l.key, key)
		g.Put(key+arch.Addr(l.rows.off), l.rows.size, uint64(row))
	}
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
	pa.call(x, f, uint64(pa.k.near()+arch.Addr(label*labelStep+keyAt)))
	return true
}
