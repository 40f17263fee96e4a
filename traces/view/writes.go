package view

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A write is the stores of one memcpy to text: its pieces, if nothing came between.
type write struct {
	at, end     uint64
	first, last int // events
}

// writeOf returns the write that includes the store at event i.
func (p *past) writeOf(i int) write {
	e := &p.ev[i]
	w := write{e.A, e.A + e.C, i, i}
	for k := i + 1; k < len(p.ev) && k <= p.at; k++ { // pieces after it
		if e := &p.ev[k]; e.Kind == smpev.TextStore && e.Task == p.ev[i].Task && e.A == w.end && p.pieces(w, k) {
			w.end, w.last = e.A+e.C, k
			continue
		}
		break
	}
	for k := i - 1; k >= 0; k-- { // and before
		e := &p.ev[k]
		if e.Kind != smpev.TextStore || e.Task != p.ev[i].Task || e.A+e.C != w.at {
			break
		}
		if o := (write{e.A, e.A + e.C, k, k}); !p.pieces(o, w.first) {
			break
		}
		w.at, w.first = e.A, k
	}
	return w
}

// chunk is the size, in bytes, of the boundaries that no piece of a memcpy crosses.
const chunk = 8

// pieces reports whether a write and the store at event i are of one memcpy: both belong to one image, and the head
// alone is a piece only at the end of a chunk. Stores of compiled code are pieces if one instruction makes both.
func (p *past) pieces(w write, i int) bool {
	if from, by := p.aliased(w.first), p.aliased(i); from >= 0 || by >= 0 {
		return from == by
	}
	img := p.imageOver(w.at, w.first)
	if img < 0 {
		return false
	}
	b, at := unpack(&p.ev[img]), p.ev[img].A
	if w.end == at+1 && w.end%chunk != 0 {
		return false
	}
	e := &p.ev[i]
	for a := w.at; a < e.A+e.C; a++ {
		v, ok := p.stored(a, w.first, i)
		if k := a - at; !ok || k >= uint64(len(b)) || b[k] != v {
			return false
		}
	}
	return true
}

// stored returns the byte that a store between two events has put at addr.
func (p *past) stored(addr uint64, from, to int) (byte, bool) {
	for _, v := range p.hist[addr] {
		if v.at >= from && v.at <= to {
			return v.value, true
		}
	}
	return 0, false
}

// imageOver returns the last announcement before event i of an instruction of several
// bytes that covers addr, or -1.
func (p *past) imageOver(addr uint64, i int) int {
	return p.last(i, func(e *traces.Event) bool {
		return e.Kind == smpev.Image && e.C>>56 > 1 && addr-e.A < e.C>>56 && e.CPU != machineCPU
	})
}

// imageAfter returns the next announcement after event i, by the same task, of an instruction of several bytes that
// covers addr, or -1: of one whose tail is stored before its first byte.
func (p *past) imageAfter(addr uint64, i int) int {
	return p.next(i, p.at, func(e *traces.Event) bool {
		return e.Kind == smpev.Image && e.C>>56 > 1 && addr-e.A < e.C>>56 && e.Task == p.ev[i].Task &&
			e.CPU != machineCPU
	})
}

// image returns the last announcement before event i for a site, or -1.
func (p *past) image(s span, i int) int {
	return p.last(i, func(e *traces.Event) bool {
		return e.Kind == smpev.Image && e.C>>56 > 1 && s.has(e.A) && e.CPU != machineCPU
	})
}

// hasInside reports whether a linked instruction begins at addr, inside the image of
// event img.
func (p *past) hasInside(addr uint64, img int) bool {
	return addr-p.ev[img].A < p.ev[img].C>>56
}

// siteAt returns the head of the site of addr: the image's, if it has one.
func (p *past) siteAt(addr uint64) uint64 {
	if i := p.imageOver(addr, p.at+1); i >= 0 {
		return p.ev[i].A
	}
	return addr
}

// writesTo returns the writes to s before event i.
func (p *past) writesTo(s span, i int) []write {
	var list []write
	for k := 0; k < i && k < len(p.ev); k++ {
		if e := &p.ev[k]; e.Kind == smpev.TextStore && e.A < s.end && s.at < e.A+e.C {
			w := p.writeOf(k)
			if n := len(list); n == 0 || list[n-1].first != w.first {
				list = append(list, w)
			}
		}
	}
	return list
}

// writesSince returns the writes to s from event from (or from the first event) to i.
func (p *past) writesSince(s span, from, i int) []write {
	list := p.writesTo(s, i)
	return slices.DeleteFunc(list, func(w write) bool { return w.first < from || !p.differs(w) })
}

// changes returns the writes to s between two events that have changed it.
func (p *past) changes(s span, from, to int) []write {
	return slices.DeleteFunc(p.writesTo(s, to), func(w write) bool { return w.first < from || !p.differs(w) })
}

// differs reports whether a write has changed memory.
func (p *past) differs(w write) bool {
	for a := w.at; a < w.end; a++ {
		was, ok := p.value(a, w.first)
		is, _ := p.value(a, w.last+1)
		if !ok || was.value != is.value {
			return true
		}
	}
	return false
}

// tellWrites describes each write.
func (p *tale) tellWrites(list []write, may int) {
	for i := range list {
		w := &list[i]
		if p.ev[w.first].Kind != smpev.TextStore {
			continue
		}
		l := p.say(w.first, may+len(list)-1-i, "%s %s.", p.who(w.first), p.wrote(*w))
		if w.last != w.first {
			l.also(p, w.last)
		}
	}
}

// wrote describes a write: which part of which image it is, and of compiled code which instruction has stored it, and
// through what.
func (p *past) wrote(w write) string {
	i := p.aliased(w.first)
	if i >= 0 {
		w = p.changed(w)
	}
	says := p.wrotePart(w)
	if i >= 0 {
		says += fmt.Sprintf(", through %s, by the instruction at %s", p.x.place(p.ev[i].A), p.x.place(p.ev[i].B))
	}
	return says
}

// changed returns a write without the bytes at its ends that it leaves as they were, if it changes any.
func (p *past) changed(w write) write {
	if !p.differs(w) {
		return w
	}
	for !p.differs(write{w.at, w.at + 1, w.first, w.last}) {
		w.at++
	}
	for !p.differs(write{w.end - 1, w.end, w.first, w.last}) {
		w.end--
	}
	return w
}

func (p *past) wrotePart(w write) string {
	where := p.places(span{w.at, w.end})
	if i := p.before(p.ev[w.first].Task, w.first); i >= 0 && p.ev[i].A == w.at {
		switch p.ev[i].Kind {
		case kpev.Arm:
			return "wrote the probe's breakpoint to " + where
		case kpev.Disarm:
			return "wrote the original byte back to " + where
		}
	}
	if p.stopped(w.first) {
		where += ", every CPU stopped"
	}
	if img := p.imageOver(w.at, w.first); img >= 0 && p.part(w, img) {
		name := p.imageName(img)
		size := p.ev[img].C >> 56
		switch {
		case w.at == p.ev[img].A && w.end-w.at == size:
			return fmt.Sprintf("wrote %s over %s", name, where)
		case w.at == p.ev[img].A && w.end-w.at == 1:
			return fmt.Sprintf("wrote the first byte of %s over %s", name, where)
		case w.at == p.ev[img].A:
			return fmt.Sprintf("wrote the first %d bytes of %s over %s", w.end-w.at, name, where)
		case w.end == p.ev[img].A+size && w.at == p.ev[img].A+1:
			return fmt.Sprintf("wrote the tail of %s over %s", name, where)
		}
		return fmt.Sprintf("wrote part of %s over %s", name, where)
	}
	if uint64(p.in.Arch.BreakLen(p.head(w.at, w.last+1))) == w.end-w.at {
		return "wrote a breakpoint over " + where
	}
	if p.original(w) {
		if w.end-w.at == 1 {
			return "wrote the original byte back to " + where
		}
		return "wrote the original bytes back to " + where
	}
	return fmt.Sprintf("stored %s to %s", traces.Counted(w.end-w.at, "byte"), where)
}

// within returns the bytes of a write that are inside an image; if none is, the write. A store of compiled code may be
// longer than the instruction that it changes.
func (p *past) within(w write, img int) write {
	e := &p.ev[img]
	if at, end := max(w.at, e.A), min(w.end, e.A+e.C>>56); at < end {
		w.at, w.end = at, end
	}
	return w
}

// part reports whether the bytes written are the image's.
func (p *past) part(w write, img int) bool {
	b := unpack(&p.ev[img])
	for a := w.at; a < w.end; a++ {
		v, _ := p.value(a, w.last+1)
		if k := a - p.ev[img].A; k >= uint64(len(b)) || b[k] != v.value {
			return false
		}
	}
	return true
}

// original reports whether the bytes written are the linked ones.
func (p *past) original(w write) bool {
	for a := w.at; a < w.end; a++ {
		v, _ := p.value(a, w.last+1)
		if o, ok := p.x.linked[a]; !ok || o != v.value {
			return false
		}
	}
	return true
}

// imageName names the instruction that is announced at event i.
func (p *past) imageName(i int) string {
	e := &p.ev[i]
	b := unpack(e)
	in, err := p.in.Arch.Decode(b, arch.Addr(e.A))
	switch {
	case p.in.bare(e):
		return "the breakpoint"
	case p.in.Arch.IsBreakpoint(e.B):
		return "the breakpoint and the original tail"
	case err != nil:
		return "the new instruction"
	}
	if to, ok := in.Target(); ok {
		what := "the jump to "
		if in.Flow() == arch.FlowCall {
			what = "the call to "
		}
		return what + strings.TrimSuffix(p.x.place(uint64(to)), "+0x0")
	}
	if strings.HasPrefix(in.String(), "nop") {
		return "the nop"
	}
	return "the new instruction"
}

// places prints a range: victim+0x1..+0x4.
func (p *past) places(s span) string {
	from := p.x.place(s.at)
	if s.end-s.at <= 1 {
		return from
	}
	to := p.x.place(s.end - 1)
	if i := strings.LastIndexByte(to, '+'); i > 0 && strings.HasPrefix(from, to[:i+1]) {
		to = to[i:]
	}
	return from + ".." + to
}

// sources are the origins of the bytes of an executed instruction.
type sources struct {
	ran   span
	bytes []byte
	from  []version // of each byte
	newer [][]int   // the later events that changed it
	wrote map[int]write
	order []int // the events of from and newer, ascending
}

// sources finds, for each byte of the instruction executed at event v, the newest version that
// it can have come from.
func (p *past) sources(ran span, b []byte, v int) *sources {
	s := &sources{ran: ran, bytes: b, from: make([]version, len(b)), newer: make([][]int, len(b)),
		wrote: map[int]write{}}
	for k, val := range b {
		s.from[k] = version{-2, val} // unknown
		list := p.hist[ran.at+uint64(k)]
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].at >= v {
				continue
			}
			if list[i].value == val {
				s.from[k] = list[i]
				break
			}
			s.newer[k] = append(s.newer[k], list[i].at)
		}
		if s.from[k].at == -2 {
			s.newer[k] = nil
		}
	}
	note := func(i int) {
		if i >= 0 && p.ev[i].Kind == smpev.TextStore && !slices.Contains(s.order, i) {
			s.order = append(s.order, i)
			s.wrote[i] = p.writeOf(i)
		}
	}
	for k := range b {
		note(s.from[k].at)
		for _, i := range s.newer[k] {
			note(i)
		}
	}
	slices.Sort(s.order)
	return s
}

// stale reports whether memory held something newer.
func (s *sources) stale() bool {
	return slices.ContainsFunc(s.newer, func(n []int) bool { return len(n) > 0 })
}

// mixed reports whether the bytes don't all come from one write, or all from no write.
func (s *sources) mixed() bool {
	for _, v := range s.from {
		if v.at != s.from[0].at &&
			!(v.at >= 0 && s.from[0].at >= 0 && s.wrote[v.at].first == s.wrote[s.from[0].at].first) {
			return true
		}
	}
	return false
}

// writes returns the writes that the bytes come from.
func (s *sources) writes() []write {
	var list []write
	for _, i := range s.order {
		if slices.ContainsFunc(s.from, func(v version) bool { return v.at == i }) {
			list = s.add(list, i)
		}
	}
	return list
}

func (s *sources) add(list []write, i int) []write {
	if n := len(list); n == 0 || list[n-1].first != s.wrote[i].first {
		list = append(list, s.wrote[i])
	}
	return list
}

// all returns those writes and the unseen ones, and the other writes of their patch.
func (s *sources) all(p *past, v int) []write {
	var list []write
	for _, i := range s.order {
		list = s.add(list, i)
	}
	if len(list) == 0 {
		if site, ok := p.x.site(s.ran.at); ok {
			list = p.writesSince(site, p.image(site, v), v)
		}
	}
	return list
}

// unseen returns the first write that the CPU has not seen, and the last.
func (s *sources) unseen() (first, last int) {
	first = -1
	for _, n := range s.newer {
		for _, i := range n {
			if first < 0 || i < first {
				first = i
			}
			last = max(last, i)
		}
	}
	return first, last
}

func (s *sources) events() []int { return s.order }

// words returns where each byte comes from: byte 0 of the jump, bytes 1 to 4 as linked.
func (s *sources) words(p *past) string {
	type run struct {
		what     string
		from, to int
		off      int // of the first byte in what
	}
	var runs []run
	for k := range s.from {
		what, off := p.whose(s.ran.at+uint64(k), s.from[k])
		if n := len(runs); n > 0 && runs[n-1].what == what {
			runs[n-1].to = k
			continue
		}
		runs = append(runs, run{what, k, k, off})
	}
	if len(runs) == 1 {
		r := runs[0]
		if r.off >= 0 && (r.off > 0 || r.to > 0) {
			return numbered(r.off, r.off+r.to-r.from) + " of " + r.what
		}
		return r.what
	}
	var parts []string
	for i := range runs {
		r := &runs[i]
		if r.what == "" {
			continue
		}
		which, several := numbered(r.from, r.to), false
		for k := i + 1; k < len(runs); k++ {
			if o := &runs[k]; o.what == r.what {
				which += " and" + strings.TrimPrefix(strings.TrimPrefix(numbered(o.from, o.to), "bytes"), "byte")
				o.what, several = "", true
			}
		}
		if several {
			which = "bytes" + strings.TrimPrefix(strings.TrimPrefix(which, "bytes"), "byte")
		}
		of := " of "
		if r.what == asLinked {
			of = " "
		}
		parts = append(parts, which+of+r.what)
	}
	return strings.Join(parts, ", ")
}

// asLinked stands for the original code.
const asLinked = "as linked"

// whose names the origin of a version of a byte, and its index there.
func (p *past) whose(addr uint64, v version) (what string, off int) {
	if v.at == -2 {
		return "nothing that was stored", -1
	}
	if v.at >= 0 {
		if p.inBreakpoint(addr, v.at+1) {
			return "the breakpoint", -1
		}
		w := p.writeOf(v.at)
		for _, img := range []int{p.imageOver(addr, v.at), p.imageAfter(addr, v.at)} {
			if img >= 0 && p.part(p.within(w, img), img) && !p.in.Arch.IsBreakpoint(p.ev[img].B) {
				return p.imageName(img), int(addr - p.ev[img].A)
			}
		}
	}
	if b, ok := p.x.linked[addr]; ok && b == v.value {
		return asLinked, -1
	}
	return "other code", -1
}
