package overlay

import (
	"cmp"
	"debug/elf"
	"fmt"
	"slices"
	"strings"

	"kpsim/linux/vmlinux"
)

// A Move is a function of the vmlinux that the overlay replaces: its entry must jump to the new
// one.
type Move struct {
	Name     string
	From, To uint64
	// Site is where the jump is put, and Target where it leads: functions with two entries jump from one local entry to
	// the other, behind what makes the TOC.
	Site, Target uint64
}

// move returns the move of a function of the vmlinux to one of the objects.
func move(old vmlinux.Symbol, to *symbol) Move {
	return Move{Name: to.Name, From: old.Addr, To: to.at, Site: old.Addr + old.Near(), Target: to.entry()}
}

// jumpBytes returns the length of a jump that reaches the new function.
func (l *linker) jumpBytes() uint64 { return uint64(l.im.Processor().Linux().BranchLen) }

// moves finds the functions that both have: global ones by name; static ones that lie between
// global ones of the same file, because old data may have pointers to them.
func (l *linker) moves() error {
	for _, o := range l.objects {
		for i := range o.sections {
			if o.sections[i].kept && o.sections[i].exec() {
				if err := l.movesOf(o, elf.SectionIndex(i)); err != nil {
					return err
				}
			}
		}
	}
	slices.SortStableFunc(l.moved, func(a, b Move) int { return cmp.Compare(a.From, b.From) })
	for i := 1; i < len(l.moved); i++ {
		if a, b := l.moved[i-1], l.moved[i]; b.From-a.Site < l.jumpBytes() {
			return fmt.Errorf("%s at %#x and %s at %#x of %s are too close for jumps to the new ones", a.Name, a.From,
				b.Name, b.From, l.im.Path)
		}
	}
	return nil
}

func (l *linker) movesOf(o *object, index elf.SectionIndex) error {
	low, high := ^uint64(0), uint64(0)
	for i := range o.symbols {
		s := &o.symbols[i]
		if s.Section != index || s.Type() != elf.STT_FUNC || s.Bind() == elf.STB_LOCAL || s.away {
			continue
		}
		old, ok := l.global(s.Name)
		if !ok {
			continue
		}
		if room := l.room(old); room < l.jumpBytes() {
			return fmt.Errorf("%s: %s has %d bytes in %s, too few for a jump to the new one: overlay its "+
				"callers instead", o.name, s.Name, room, l.im.Path)
		}
		l.moved = append(l.moved, move(old, s))
		low, high = min(low, old.Addr), max(high, old.Addr)
	}
	if low >= high {
		return nil
	}
	static := make(map[string]*symbol)
	for i := range o.symbols {
		if s := &o.symbols[i]; s.Section == index && s.Type() == elf.STT_FUNC && s.Bind() == elf.STB_LOCAL &&
			!isClone(s.Name) {
			static[s.Name] = s
		}
	}
	for _, old := range symbolsFrom(l.im.Symbols(), low) {
		if old.Addr >= high {
			break
		}
		if s := static[old.Name]; s != nil && !old.Global && old.Func && l.room(old) >= l.jumpBytes() {
			l.moved = append(l.moved, move(old, s))
			delete(static, old.Name) // once
		}
	}
	return nil
}

// room returns the number of bytes from a function's local entry to the next function, padding included.
func (l *linker) room(s vmlinux.Symbol) uint64 {
	after := symbolsFrom(l.im.Symbols(), s.Addr+1)
	size := s.Size
	if len(after) > 0 && l.im.Together(s.Addr, after[0].Addr) {
		size = max(size, after[0].Addr-s.Addr)
	}
	return size - min(size, s.Near())
}

// isClone reports whether gcc derived a function from another. Such a function has a private
// calling convention, and only its own file calls it.
func isClone(name string) bool { return strings.Contains(name, ".") }

// list joins the first names for a message.
func list(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:most], ", "), len(names)-most)
}
