package overlay

import "debug/elf"

// The table of functions that may not be probed. kernel/kprobes.c walks the vmlinux's table,
// between two symbols of the linker script. An overlay with kprobes.o walks a longer one: the
// vmlinux's rows, the objects' rows, and the objects' functions in sections that may not be
// probed at all, since the bounds of those sections are the vmlinux's.
const (
	blacklistSection = "_kprobe_blacklist"
	blacklistStart   = "__start_kprobe_blacklist"
	blacklistStop    = "__stop_kprobe_blacklist"
)

// unprobed lists the sections that may not be probed at all.
var unprobed = []string{".kprobes.text", ".noinstr.text", ".entry.text"}

// blacklist makes the table as an additional group, if an object refers to it.
func (l *linker) blacklist() {
	refers := false
	for _, o := range l.objects {
		for i := range o.symbols {
			refers = refers || o.symbols[i].Name == blacklistStart && o.symbols[i].Section == elf.SHN_UNDEF
		}
	}
	start, ok1 := l.global(blacklistStart)
	stop, ok2 := l.global(blacklistStop)
	if !refers || !ok1 || !ok2 || stop.Addr < start.Addr {
		return
	}
	g := &l.table
	g.Name, g.Addr, g.Write = blacklistSection, l.end, true
	g.Data = append(g.Data, l.im.Bytes(start.Addr, (stop.Addr-start.Addr)&^uint64(l.im.Class().Word-1))...)
	for _, o := range l.objects {
		for i := range o.sections {
			s := &o.sections[i]
			if s.Name == blacklistSection && !s.kept {
				for _, at := range o.addresses(nil, s) {
					g.Data = o.Append(g.Data, at)
				}
			}
		}
		for i := range o.symbols {
			s := &o.symbols[i]
			if in := o.section(s); in != nil && in.kept && s.Type() == elf.STT_FUNC && hasPrefix(in.Name, unprobed...) {
				g.Data = o.Append(g.Data, s.Value+in.at)
			}
		}
	}
	g.Size = uint64(len(g.Data))
	l.end = alignUp(l.end+g.Size, pageBytes)
}

// bindTable sets the addresses of the symbols around the table, if the overlay has it.
func (l *linker) bindTable(s *symbol) bool {
	if l.table.Size == 0 {
		return false
	}
	switch s.Name {
	case blacklistStart:
		s.at = l.table.Addr
	case blacklistStop:
		s.at = l.table.Addr + l.table.Size
	default:
		return false
	}
	return true
}
