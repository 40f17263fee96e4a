package image

import (
	"fmt"
	"math"
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

const pageBytes = 4096

// Place links the object so that its first text section begins at base, and
// returns its functions and data, patched as on StockBoot. Code sections follow
// each other with their alignment counted from base: a base that isn't aligned
// moves all code alike, which is how a scenario puts a site across a chunk or
// page boundary. Each data section begins on a page of its own after the code.
// extern says where a symbol is that the object doesn't define; what it doesn't
// know is an error, but in a kernel module an import. Functions that share bytes,
// thread-local and common variables, and a global offset table are
// errors too: Load alone takes them.
func (o *Object) Place(base arch.Addr, extern Extern) (*Image, error) {
	if o.unplaced != nil {
		return nil, fmt.Errorf("%s: %w", o.name, o.unplaced)
	}
	l, err := o.link(base, o.layout, StockBoot, extern, o.module)
	if err != nil {
		return nil, err
	}
	img := &Image{Imports: l.imports, Sites: l.sites()}
	blacklisted := make(map[arch.Addr]bool)
	for _, s := range l.kallsyms(l.regions()) {
		blacklisted[s.Addr] = s.Blacklisted
	}
	for i, f := range o.funcs {
		at := l.at[f.sec] + arch.Addr(f.off)
		end := len(l.bytes[f.sec])
		if i+1 < len(o.funcs) && o.funcs[i+1].sec == f.sec {
			end = o.funcs[i+1].off
		}
		if !o.isPadding(l.bytes[f.sec][f.off+f.size : end]) {
			end = f.off + f.size
		}
		code := l.bytes[f.sec][f.off:end:end]
		if end == len(l.bytes[f.sec]) && o.module {
			code = append(code, make([]byte, l.behind(f.sec))...)
		}
		img.Funcs = append(img.Funcs, Func{
			Name:    f.name,
			Addr:    at,
			Code:    code,
			Local:   f.local || f.unnamed,
			Extable: slices.Clone(f.extable),

			Padding:     len(code) - f.size,
			Blacklisted: blacklisted[at],
		})
	}
	for i := o.texts; i < len(o.sections); i++ {
		if len(l.bytes[i]) == 0 {
			continue
		}
		img.Blocks = append(img.Blocks, Block{Name: o.sections[i].name, Addr: l.at[i], Bytes: l.bytes[i]})
	}
	for _, s := range o.labels {
		to := Label{Name: s.name, In: o.sections[s.sec].name, Off: s.off, Local: s.local}
		if s.sec < o.texts {
			f := o.funcAt(s.sec, s.off)
			if f == nil || f.off != s.off || f.name == s.name {
				continue
			}
			to.In, to.Off = f.name, 0
		} else if len(l.bytes[s.sec]) == 0 {
			continue
		}
		img.Labels = append(img.Labels, to)
	}
	return img, nil
}

// behind returns how many zeros lie after a section of a module's code, as far
// as they may decide about a probe on the code before them: to the next
// section, or the end of the page.
func (l *linked) behind(sec int) int {
	end := l.at[sec] + arch.Addr(len(l.bytes[sec]))
	next := arch.Addr(alignUp(uint64(end), pageBytes))
	if sec+1 < l.o.texts {
		next = min(next, l.at[sec+1])
	}
	return int(min(next-end, x86.MaxLen))
}

// layout returns the address of each section, and where the last one ends.
func (o *Object) layout(base arch.Addr) ([]arch.Addr, arch.Addr) {
	at := make([]arch.Addr, len(o.sections))
	end := uint64(0) // from base, while it is code
	for i := range o.texts {
		end = alignUp(end, o.sections[i].align)
		at[i] = base + arch.Addr(end)
		end += uint64(len(o.sections[i].data))
	}
	return at, o.layoutData(at, base+arch.Addr(end))
}

func (o *Object) layoutData(at []arch.Addr, from arch.Addr) (end arch.Addr) {
	end = from
	for i := o.texts; i < len(o.sections); i++ {
		at[i] = arch.Addr(alignUp(uint64(end), max(pageBytes, o.sections[i].align)))
		end = at[i] + arch.Addr(len(o.sections[i].data))
	}
	return end
}

// room returns an error if the object can't be laid out from base.
func (o *Object) room(base arch.Addr) error {
	need := uint64(len(o.targets)+2)*(pageBytes+8) + pageBytes // of imports and their slots, at most
	for i := range o.sections {
		need += uint64(len(o.sections[i].data)) + max(pageBytes, o.sections[i].align)
	}
	last := uint64(math.MaxUint64)
	if o.Bits32() {
		last = math.MaxUint32
	}
	if need > last || uint64(base) > last-need {
		return fmt.Errorf("%s: doesn't fit behind %#x; choose a lower address", o.name, uint64(base))
	}
	return nil
}

func alignUp(v, align uint64) uint64 { return (v + align - 1) &^ (align - 1) }
