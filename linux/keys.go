package linux

import (
	"kpsim/engine/jumplabel"
	"kpsim/engine/staticcall"
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

// Static calls of a scenario. Each has a struct static_call_key and rows of a table of
// sites, as the linker and static_call_init would have left them. The kernel's own code
// updates them.

// Flags of a static call (include/linux/static_call_types.h).
const (
	tailSite  = 1 // in the row of a site: the site is a jump
	ownsSites = 1 // in the key: the key has sites, not a list of modules
)

// callParts are the parts of static calls that the engine uses.
type callParts struct {
	update        arch.Addr // __static_call_update; 0: the kernel has no static calls
	notify        arch.Addr // static_call_module_notify
	to, sites     field     // of struct static_call_key
	at, of        field     // of struct static_call_site
	keySize, step arch.Addr
}

// findCalls looks up the parts of static calls. It finds all of them or none.
func (k *Kernel) findCalls() {
	t := k.Image.Types()
	c := callParts{update: k.at("__static_call_update"), notify: k.at("static_call_module_notify")}
	ok := c.update != 0 && k.at("static_call_init") != 0 // else calls only go through trampolines
	c.to, ok = part(t, "static_call_key", "func", ok)
	c.sites, ok = part(t, "static_call_key", "sites", ok)
	c.at, ok = part(t, "static_call_site", "addr", ok)
	c.of, ok = part(t, "static_call_site", "key", ok)
	size, _ := t.Size("static_call_key")
	step, _ := t.Size("static_call_site")
	if c.keySize, c.step = arch.Addr(size), arch.Addr(step); ok {
		k.static = c
	}
}

// CallSites reports whether the kernel patches the sites of static calls
// (CONFIG_HAVE_STATIC_CALL_INLINE). Kernels for i386 call their trampolines instead.
func (k *Kernel) CallSites() bool { return k.static.update != 0 }

// layCalls finds where the keys lie, and writes them and the sites.
func (pa *patched) layCalls() {
	pa.keys = pa.keys[:0]
	c := &pa.k.static
	if pa.d.Calls == nil || c.update == 0 {
		return
	}
	at, end := pa.k.near()+callsAt, pa.k.near()+recordsAt
	for _, call := range pa.d.Calls.All() {
		n := 0
		call.Sites(func(s staticcall.CallSite) { n += int(b2u(pa.e.modules.holds(s.At) < 0)) })
		key, rows := at, at+c.keySize // a row of zeros ends a call's own rows: its key is another
		at = rows + arch.Addr(roundUp((n+1)*int(c.step), 16))
		if at > end {
			return
		}
		pa.keys = append(pa.keys, key)
		if pa.e.kept == nil {
			pa.layCall(call, key, rows, n)
		}
	}
}

// layCall writes the key of a call and the rows of its sites.
func (pa *patched) layCall(call *staticcall.Call, key, row arch.Addr, n int) {
	c, g := &pa.k.static, pa.d.Guest
	first, _ := call.Target()
	g.Put(key+arch.Addr(c.to.off), c.to.size, uint64(first))
	if n > 0 {
		g.Put(key+arch.Addr(c.sites.off), c.sites.size, uint64(row)|ownsSites)
	}
	call.Sites(func(s staticcall.CallSite) {
		if pa.e.modules.holds(s.At) < 0 {
			pa.laySite(row, key, s)
			row += c.step
		}
	})
}

// laySite writes the row of a site.
func (pa *patched) laySite(row, key arch.Addr, s staticcall.CallSite) {
	flags := arch.Addr(0)
	if s.Tail {
		flags = tailSite
	}
	pa.putRelative(row, pa.k.static.at, s.At)
	pa.putRelative(row, pa.k.static.of, key+flags)
}

// layModuleCalls writes the table of a module that comes, as it lies in the module's file.
func (pa *patched) layModuleCalls(module int) (from arch.Addr, n int) {
	if pa.d.Calls == nil || module < 0 {
		return 0, 0
	}
	from = pa.k.near() + moduleCallsAt
	for i, call := range pa.d.Calls.All()[:len(pa.keys)] {
		call.Sites(func(s staticcall.CallSite) {
			row := from + arch.Addr(n)*pa.k.static.step
			switch in := pa.e.modules.holds(s.At); {
			case in < 0 || in > module || row+pa.k.static.step > pa.k.near()+nearSize:
			case in < module:
				from += pa.k.static.step
			default:
				pa.laySite(row, pa.keys[i], s)
				n++
			}
		})
	}
	return from, n
}

// SetCall implements engine.Patcher.
func (pa *patched) SetCall(x kapi.Context, call int, target arch.Addr) (done bool) {
	if call >= len(pa.keys) {
		return false
	}
	_, trampoline := pa.d.Calls.All()[call].Target()
	pa.call(x, pa.k.static.update, uint64(pa.keys[call]), uint64(trampoline), uint64(target))
	return true
}
