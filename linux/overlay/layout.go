package overlay

import (
	"debug/elf"
	"fmt"
	"slices"
	"strings"

	"kpsim/linux/vmlinux"
)

const pageBytes = 4096

// dropped lists prefixes of the names of sections that a kernel reads during build or boot, or
// for unwinding. They aren't put in memory unless code refers to them.
var dropped = []string{
	".discard", ".orc_", ".eh_frame", ".gnu.", ".note", ".comment",
	"__ksymtab", "___ksymtab", "__kcrctab", "___kcrctab", ".export_symbol", ".modinfo",
	".initcall", ".con_initcall", ".init.setup", // Initcalls names the functions
	"__mcount_loc", ".return_sites", ".retpoline_sites", ".call_sites", ".ibt_endbr_seal", ".cfi_sites", ".kcfi_traps",
	// read, see sites_x86.go, tables.go and blacklist.go
	"__patchable_function_entries", ".smp_locks", "_kprobe_blacklist",
}

// tables lists sections that keep their names, with those of all objects concatenated, because a
// patcher walks them. So do all sections without a leading dot: __bug_table.
var tables = []string{".altinstructions", ".alternative", ".parainstructions", ".static_call_sites"}

func hasPrefix(name string, beginnings ...string) bool {
	return slices.ContainsFunc(beginnings, func(p string) bool { return strings.HasPrefix(name, p) })
}

// keep decides which sections are put in memory.
func (l *linker) keep() {
	for _, o := range l.objects {
		for i := range o.sections {
			s := &o.sections[i]
			s.kept = s.Flags&elf.SHF_ALLOC != 0 && !hasPrefix(s.Name, dropped...)
		}
	}
	for again := true; again; {
		again = false
		for _, o := range l.objects {
			for i := range o.sections {
				if o.sections[i].kept && o.keepReferred(&o.sections[i]) {
					again = true
				}
			}
		}
	}
}

// keepReferred keeps the sections that s refers to, and reports whether any are new.
func (o *object) keepReferred(s *section) (more bool) {
	for _, r := range s.rela {
		to := o.section(&o.symbols[r.Symbol])
		if to != nil && !to.kept && to.Flags&elf.SHF_ALLOC != 0 {
			to.kept, more = true, true
		}
	}
	return more
}

// group returns the name of the overlay's section that contains s.
func (l *linker) group(s *section) string {
	switch {
	case s.percpu():
		return ".data..percpu"
	case s.exec() && l.port.init != 0 && s.Name == initText:
		return initText
	case s.exec():
		return ".text"
	case slices.Contains(tables, s.Name), !strings.HasPrefix(s.Name, "."):
		return s.Name
	case s.write():
		return ".data"
	}
	return ".rodata"
}

// initText is the section of code that only the boot runs.
const initText = ".init.text"

// A group is a section of the overlay with the objects' sections that it contains.
type group struct {
	vmlinux.Section
	parts []*section
	align uint64
}

// layout gives each kept section its address: text first, from at up, then each other group on
// pages of its own. Per-CPU data goes after the vmlinux's.
func (l *linker) layout(at uint64) error {
	if at%pageBytes != 0 {
		return fmt.Errorf("the overlay's address %#x is no multiple of %d", at, pageBytes)
	}
	byName := map[string]int{".text": 0}
	l.groups = []group{{Section: vmlinux.Section{Name: ".text", Exec: true}, align: 1}}
	total := uint64(0)
	for _, o := range l.objects {
		for i := range o.sections {
			s := &o.sections[i]
			if !s.kept {
				continue
			}
			if s.Align > alignMax || s.Align&(s.Align-1) != 0 {
				return fmt.Errorf("%s: section %s: is aligned to %#x: the file is damaged, compile it again", o.name,
					s.Name, s.Align)
			}
			if total += s.Size + s.Align; s.Size > loadedMax || total > loadedMax {
				return fmt.Errorf("%s: section %s: more than %d MiB are put in memory: give the objects of the "+
					"engine only", o.name, s.Name, loadedMax>>20)
			}
			name := l.group(s)
			k, ok := byName[name]
			if !ok {
				k = len(l.groups)
				byName[name] = k
				l.groups = append(l.groups, group{Section: vmlinux.Section{Name: name, Exec: s.exec()}, align: 1})
			}
			g := &l.groups[k]
			g.Write = g.Write || s.write()
			g.align = max(g.align, s.Align)
			g.parts = append(g.parts, s)
		}
	}
	for i := range l.groups {
		g := &l.groups[i]
		from := at
		switch g.Name {
		case ".data..percpu":
			from = l.percpuEnd()
		case initText:
			from = l.groups[0].Addr&^(pageBytes-1) + l.port.init
		}
		if from > l.im.Class().Addr(^uint64(0))-2*loadedMax-alignMax*uint64(len(l.groups)) {
			return fmt.Errorf("the overlay's address %#x leaves no room for it", at)
		}
		g.Addr = alignUp(from, max(g.align, 64))
		end := g.Addr
		for _, s := range g.parts {
			s.at = alignUp(end, s.Align)
			end = s.at + s.Size
		}
		g.Size = end - g.Addr
		if g.Name == initText {
			continue
		}
		if g.Name != ".data..percpu" {
			at = alignUp(end, pageBytes)
		} else if room := l.percpuRoom(); end-from > room {
			return fmt.Errorf("%d bytes of per-CPU data are too many: %d are free behind those of %s; have "+
				"them in memory that isn't per-CPU, or link the kernel with them", end-from, room, l.im.Path)
		}
	}
	l.end = at
	return nil
}

// percpuEnd returns the end of the vmlinux's per-CPU data.
func (l *linker) percpuEnd() uint64 {
	s := l.im.Section(".data..percpu")
	if s == nil {
		return 0
	}
	return s.Addr + s.Size
}

// percpuRoom returns the free space after the vmlinux's per-CPU data, which on i386 and ppc64le lies among
// the other data.
func (l *linker) percpuRoom() uint64 {
	room, end := uint64(loadedMax), l.percpuEnd()
	for _, s := range l.im.Sections() {
		if s.Addr >= end && !vmlinux.BootOnly(l.im, s) {
			room = min(room, s.Addr-end)
		}
	}
	return room
}

// isPerCPU reports whether an address of the vmlinux is in per-CPU data.
func (l *linker) isPerCPU(addr uint64) bool {
	s := l.im.Section(".data..percpu")
	return s != nil && addr-s.Addr < s.Size
}

func alignUp(v, align uint64) uint64 { return (v + align - 1) &^ (align - 1) }

// fill copies the bytes of the parts into the groups.
func (l *linker) fill() {
	for i := range l.groups {
		g := &l.groups[i]
		g.Data = make([]byte, g.Size)
		for _, s := range g.parts {
			copy(g.Data[s.at-g.Addr:], s.bytes)
		}
	}
}
