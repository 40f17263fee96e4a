package scenario

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"kpsim/kprobes/survey"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/image"
)

// Reserved is a place in a function that a table of the kernel's names: kprobes goes by
// that, and nothing in the scenario rewrites it.
type Reserved struct {
	Func   string
	Offset int
	By     Reason
	Size   int // in bytes; of ReservedBlacklist 0
}

// Reason is why text is reserved.
type Reason uint8

// The reasons.
const (
	ReservedBug        Reason = iota // ud2 or ud1 of BUG and WARN
	ReservedLabel                    // the site of a jump label
	ReservedStaticCall               // the site of a static call
	ReservedBlacklist                // the whole function refuses probes
)

var (
	reasonWords = []string{"bug", "jump label", "static call", "blacklist"}
	reasonKinds = []image.SiteKind{image.SiteBug, image.SiteJumpLabel, image.SiteStaticCall, image.SiteBlacklist}
	reasonSizes = []int{2, x86.JumpLen, x86.JumpLen, 0} // if nothing else is said
)

func (r Reason) String() string { return word(reasonWords, uint8(r)) }

// doReserved makes a reserved place.
func (l *loader) doReserved(c *call) (starlark.Value, error) {
	var at starlark.Value
	var by string
	size := -1
	if err := c.unpack("at", &at, "by", &by, "size?", &size); err != nil {
		return nil, err
	}
	f, err := function("at", at)
	if err != nil {
		return nil, err
	}
	r := Reserved{Func: f.name, Offset: int(f.off), Size: size}
	if r.By, err = lookup[Reason]("by", by, reasonWords); err != nil {
		return nil, err
	}
	if size < 0 {
		r.Size = reasonSizes[r.By]
	}
	l.position[part{theReserved, len(l.s.Reserved), -1}] = c.at
	l.s.Reserved = append(l.s.Reserved, r)
	return starlark.None, nil
}

// reserved checks reserved places.
func (c checker) reserved() error {
	for i := range c.s.Reserved {
		r, p := &c.s.Reserved[i], part{theReserved, i, -1}
		if err := c.function(p, "reserved()", r.Func, r.Offset); err != nil {
			return err
		}
		whole := r.By == ReservedBlacklist
		switch {
		case int(r.By) >= len(reasonWords):
			return faultf(p, "reserved(): reason %d isn't known; it is one of %s", r.By, quoted(reasonWords))
		case whole && (r.Offset != 0 || r.Size != 0):
			return faultf(p, "reserved(): a blacklisted function is so as a whole; give its start, and no size")
		case !whole && (r.Size < 1 || r.Size > x86.MaxLen):
			return faultf(p, "reserved(): size = %d is out of range; an instruction has 1 to %d bytes", r.Size, x86.MaxLen)
		case r.Offset+r.Size > len(c.text(r.Func).Code):
			return faultf(p, "reserved(): %d bytes at %s+%#x go beyond its end; it has %d", r.Size, r.Func, r.Offset, len(c.text(r.Func).Code))
		}
	}
	return nil
}

// printReserved prints reserved places.
func (p *printer) printReserved(s *Scenario) {
	for _, r := range s.Reserved {
		p.call("reserved", p.place(r.Func, uint64(r.Offset)), quote(r.By.String()), p.unless(r.Size == reasonSizes[r.By], "size", fmt.Sprint(r.Size)))
	}
}

// Thunk reports whether a missing symbol is a thunk for indirect jumps or returns.
func (m *Missing) Thunk() bool { return survey.IsThunk(m.Name) }

// addSites makes what an object's tables say of its functions part of the scenario, as
// far as those functions are: the call of __fentry__ is a site of ftrace, on a machine
// where anybody goes through ftrace; a place is reserved that the program doesn't say
// itself is somebody's.
func (l *loader) addSites() {
	s := &l.s
	traced := s.Machine.Ftrace || s.Does(OpTracer)
	for i := range s.Texts {
		t := &s.Texts[i]
		if l.blacklisted[t.At] {
			l.reserve(Reserved{Func: t.Name, By: ReservedBlacklist}, i)
		}
		from, _ := slices.BinarySearchFunc(l.sites, t.At, func(x image.Site, a arch.Addr) int { return cmp.Compare(x.Addr, a) })
		for _, x := range l.sites[from:] {
			off := int(x.Addr - t.At)
			if x.Addr >= t.At+arch.Addr(len(t.Code)) {
				break
			}
			if off+x.Len > len(t.Code) || s.taken(t.Name, off) {
				continue
			}
			if x.Kind == image.SiteFentry {
				if traced && (off == 0 || off == endbrLen) && bytes.HasPrefix(t.Code[off:], nop5) {
					l.position[part{theSites, len(s.Sites), -1}] = l.position[part{theTexts, i, -1}]
					s.Sites = append(s.Sites, Site{Func: t.Name, Offset: off})
				}
			} else if k := slices.Index(reasonKinds[:ReservedBlacklist], x.Kind); k >= 0 {
				l.reserve(Reserved{Func: t.Name, Offset: off, By: Reason(k), Size: x.Len}, i)
			}
		}
	}
}

func (l *loader) reserve(r Reserved, text int) {
	if slices.Contains(l.s.Reserved, r) {
		return
	}
	l.position[part{theReserved, len(l.s.Reserved), -1}] = l.position[part{theTexts, text, -1}]
	l.s.Reserved = append(l.s.Reserved, r)
}

// taken reports whether the program says whose a place in a function is.
func (s *Scenario) taken(function string, off int) bool {
	here := func(x Site) bool { return x.Func == function && x.Offset == off }
	return slices.ContainsFunc(s.Sites, here) ||
		slices.ContainsFunc(s.Labels, func(x Label) bool { return x.Func == function && x.Offset == off }) ||
		slices.ContainsFunc(s.Calls, func(x StaticCall) bool {
			return slices.ContainsFunc(x.Sites, func(x CallSite) bool { return x.Func == function && x.Offset == off })
		}) ||
		slices.ContainsFunc(s.Reserved, func(x Reserved) bool { return x.By != ReservedBlacklist && x.Func == function && x.Offset == off })
}
