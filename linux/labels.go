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
	keySize   = 32 // a key takes at most this, and lies at a multiple of it
)

// The parts of that memory: labels, static calls, ftrace's records, and the tables of modules.
const (
	callsAt        = 8 * page
	recordsAt      = 16 * page
	moduleLabelsAt = 32 * page
	moduleCallsAt  = 40 * page
)

// labelParts are the parts of jump labels that the engine uses.
type labelParts struct {
	enable, disable   arch.Addr // static_key_enable, static_key_disable; 0: the kernel has no labels
	notify            arch.Addr // jump_label_module_notify
	step              arch.Addr // the size of a struct jump_entry
	code, target, key field     // of struct jump_entry
	rows, enabled     field     // of struct static_key: where its rows begin, and whether it is on
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
	l.enabled, ok = part(k.Image.Types(), "static_key", "enabled", ok)
	if ok {
		k.labels = l
	}
}

// ShortLabels reports whether the kernel reads how many bytes a site of a jump label has (since 5.14).
func (k *Kernel) ShortLabels() bool { return k.at("arch_jump_entry_size") != 0 }

// part finds a member of a struct. It returns false if the struct has none, or if was is false.
func part(t *vmlinux.Types, name, member string, was bool) (field, bool) {
	off, size, ok := t.Off(name, member)
	return field{off, size}, ok && was
}

// layLabels writes the tables' rows and the keys, as they are at first.
func (pa *patched) layLabels() {
	l, g := &pa.k.labels, pa.d.Guest
	if pa.d.Labels == nil || l.enable == 0 {
		return
	}
	for i, label := range pa.d.Labels.All() {
		row, key := pa.label(i)
		if key == 0 {
			return
		}
		rows, n := row, 0
		for k := range label.Entries() {
			e := &label.Entries()[k]
			if pa.e.modules.holds(e.At) >= 0 {
				continue // the key has no rows there until the module comes
			}
			pa.layLabel(row, key, e)
			row += l.step
			n++
		}
		if n == 0 {
			rows = 0
		}
		if first := arch.Addr(b2u(label.First())); n > 0 || first > 0 {
			g.Put(key+arch.Addr(l.rows.off), l.rows.size, uint64(rows|first*keyTrue))
			g.Put(key+arch.Addr(l.enabled.off), l.enabled.size, uint64(first))
		}
	}
}

// Bits in the tables (include/linux/jump_label.h).
const (
	keyTrue   = 1 // in a key's rows: it is on at first (JUMP_TYPE_TRUE)
	rowLikely = 1 // in the key of a row: the jump stands there while the key is off
)

// label returns where a label's rows in the kernel's own table begin, and its key. key is 0 if there is no room.
func (pa *patched) label(i int) (row, key arch.Addr) {
	row = pa.k.near()
	for k, label := range pa.d.Labels.All()[:i+1] {
		n := roundUp((len(label.Entries())+1)*int(pa.k.labels.step), keySize) // a row of zeros ends the walk
		if key = row + arch.Addr(n); key+keySize > pa.k.near()+callsAt {
			return row, 0
		}
		if k < i {
			row += arch.Addr(roundUp(n+keySize, 2*keySize))
		}
	}
	return row, key
}

// layLabel writes a row.
func (pa *patched) layLabel(row, key arch.Addr, e *jumplabel.Entry) {
	l := &pa.k.labels
	pa.putRelative(row, l.code, e.At)
	pa.putRelative(row, l.target, e.Target)
	pa.putRelative(row, l.key, key+rowLikely*arch.Addr(b2u(e.Likely)))
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
		_, key := pa.label(i)
		for k := range label.Entries() {
			e := &label.Entries()[k]
			switch in := pa.e.modules.holds(e.At); {
			case in < 0 || in > module || key == 0:
			case in < module:
				from += l.step
			default:
				pa.layLabel(from+arch.Addr(n)*l.step, key, e)
				n++
			}
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
	_, key := pa.label(label)
	if pa.k.labels.enable == 0 || key == 0 {
		return false
	}
	f := pa.k.labels.disable
	if on {
		f = pa.k.labels.enable
	}
	pa.call(x, f, uint64(key))
	return true
}
