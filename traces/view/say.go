package view

import (
	"fmt"
	"strings"

	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// special are the kinds whose text depends on what earlier events have made of memory.
var special = map[traces.Kind]func(t *teller, e *traces.Event) string{
	smpev.Load: func(t *teller, e *traces.Event) string {
		return fmt.Sprintf("linked %s: %s", t.text.place(e.A), t.text.disassemble(unpack(e), e.A))
	},
	smpev.Image:     (*teller).image,
	smpev.TextStore: func(t *teller, e *traces.Event) string { return t.store("store", e) },
	smpev.Exec:      (*teller).exec,
	smpev.Trap:      (*teller).trap,
	smpev.Alloc:     (*teller).alloc,
	smpev.Retire:    (*teller).retire,
	smpev.Free:      (*teller).free,
	smpev.Held:      (*teller).sayHeld,
	smpev.Commit:    (*teller).sayHeld,
	smpev.Want:      (*teller).check,
	smpev.Got:       (*teller).check,
}

// say returns the text of one event alone, as its kind's row has it.
func (t *teller) say(e *traces.Event) string { return t.in.Arch.InWords(t.inX86s(e)) }

func (t *teller) inX86s(e *traces.Event) string {
	row := e.Kind.Spec()
	switch f := special[e.Kind]; {
	case f != nil:
		return f(t, e)
	case row.Text != nil:
		return row.Text(e, names{t.in})
	case row.Says != "":
		return e.Fill(row.Says, func(a traces.Arg, v uint64) string { return t.show(e, a.Type, v) })
	}
	return strings.TrimSpace(e.String())
}

// names looks up the run's names for the text of rows.
type names struct{ in *Input }

func (n names) Symbol(addr uint64) string { return n.in.symbol(addr) }
func (n names) Task(id uint64) string     { return n.in.task(id) }
func (n names) Lock(id uint64) string     { return n.in.lock(id) }

// show shows an argument of an event by its type.
func (t *teller) show(e *traces.Event, by *traces.Type, v uint64) string {
	switch by {
	case traces.Place:
		return t.text.place(v)
	case traces.Address:
		return t.in.symbol(v)
	case traces.Code:
		return t.where(v)
	case traces.IP:
		return t.stood(e, v)
	case traces.Task:
		return t.in.task(v)
	case traces.CPUs:
		return cpuSet(v)
	case traces.Lock:
		return t.in.lock(v)
	case traces.Probe:
		return t.in.probe(v)
	case traces.Source:
		return t.in.source(v)
	case traces.Errno:
		return kpev.Errno(v)
	}
	return by.Show(v)
}

// image describes the instruction that a patcher is about to write.
func (t *teller) image(e *traces.Event) string {
	s := fmt.Sprintf("about to write at %s: % x", t.text.place(e.A), unpack(e))
	switch {
	case t.in.bare(e):
		return s + "  " + t.text.disassemble(unpack(e), e.A) // of whichever number
	case t.in.Arch.IsBreakpoint(e.B):
		return s + "  " + t.in.breakpoint() + ", and what was linked behind it"
	}
	return s + "  " + t.text.disassemble(unpack(e), e.A)
}

// trap says where an exception or interrupt is taken.
func (t *teller) trap(e *traces.Event) string {
	s := smpev.Vector(e.A) + ", saved ip " + t.stood(e, e.B)
	switch {
	case e.C == smpev.TrapUser && e.A != smpev.VecPF:
		s += ", in user mode"
	case e.C != 0:
		s += ", fault at " + t.text.place(e.C)
	}
	return s
}

// alloc names memory that is allocated.
func (t *teller) alloc(e *traces.Event) string {
	a := t.text.alloc(e)
	return fmt.Sprintf("allocate %s: %s at %s", a.name, traces.Counted(e.B, "byte"), t.in.symbol(e.A))
}

// retire names memory that will be freed.
func (t *teller) retire(e *traces.Event) string {
	what := traces.Counted(e.B, "byte") + " at " + t.in.symbol(e.A)
	if a := t.text.area(e.A); a != nil {
		what = a.name
	}
	return "give " + what + " back, to be freed after a grace period"
}

// stood names the place of a saved ip; an idle CPU is also in kernel code.
func (t *teller) stood(e *traces.Event, ip uint64) string {
	if ip == t.in.KernelIP && ip != 0 && t.in.task(uint64(e.Task)) == "idle" {
		return "idle"
	}
	return t.where(ip)
}

// where names an address, with its place in the source if that is known.
func (t *teller) where(addr uint64) string {
	s := t.text.place(addr)
	if t.in.Line != nil && s == t.in.symbol(addr) {
		if line := t.in.Line(addr); line != "" {
			return s + " (" + line + ")"
		}
	}
	return s
}

// exec prints an instruction, with its bytes where text is patched.
func (t *teller) exec(e *traces.Event) string {
	b := unpack(e)
	s := t.text.place(e.A) + ": "
	if a := t.text.area(e.A); a != nil && !a.live {
		s = t.text.place(e.A) + " (freed): "
	}
	if _, ok := t.text.site(e.A); ok || t.odd(e.A, b) {
		s += fmt.Sprintf("%-*s  ", 3*t.in.Arch.BranchLen-1, fmt.Sprintf("% x", b))
	}
	return s + t.text.disassemble(b, e.A)
}

// odd reports whether b differs from the byte in memory at addr.
func (t *teller) odd(addr uint64, b []byte) bool {
	for i, v := range b {
		if m, ok := t.text.mem[addr+uint64(i)]; ok && m != v {
			return true
		}
	}
	return false
}

// stays is the text of a store that changes nothing.
const stays = ": stays "

// store prints stores to neighbouring bytes, and the resulting bytes of the whole site.
func (t *teller) store(verb string, list ...*traces.Event) string {
	x := t.text
	s := span{list[0].A, list[0].A + list[0].C}
	for _, e := range list {
		s = span{min(s.at, e.A), max(s.end, e.A+e.C)}
	}
	whole := s
	if site, ok := x.site(s.at); ok {
		whole = span{min(s.at, site.at), max(s.end, site.end)}
	}
	before := bytes(x.mem, whole)
	for _, e := range list {
		x.store(e)
	}
	what := verb + " " + x.place(s.at)
	if n := s.end - s.at; n > 1 {
		what += fmt.Sprintf(" (%d bytes)", n)
	}
	after := bytes(x.mem, whole)
	if after == before {
		return what + stays + before
	}
	return fmt.Sprintf("%s: %s -> %s", what, before, after)
}

// free prints a freeing of memory, which leaves breakpoints in it.
func (t *teller) free(e *traces.Event) string {
	for i := range e.B {
		t.text.mem[e.A+i] = t.in.Arch.Filled(arch.Addr(e.A + i))
	}
	if a := t.text.area(e.A); a != nil {
		a.live = false
		return fmt.Sprintf("free %s (%s): from now on %s", a.name, traces.Counted(e.B, "byte"), t.in.breakpoint())
	}
	return fmt.Sprintf("free %s at %s", traces.Counted(e.B, "byte"), t.in.symbol(e.A))
}

// check prints the expected result of a check, and the actual one.
func (t *teller) check(e *traces.Event) string {
	n := smpev.CheckNumber(e.A)
	if e.Kind == smpev.Want {
		return fmt.Sprintf("check %d of %s is to find %#x", n, t.in.task(smpev.CheckTask(e.A)), e.B)
	}
	switch smpev.CheckWhat(e.A) {
	case smpev.CheckMemory:
		return fmt.Sprintf("check %d finds %#x at %s", n, e.B, t.text.place(e.C))
	case smpev.CheckErrno:
		return fmt.Sprintf("check %d finds %s", n, kpev.Errno(e.B))
	case smpev.CheckCount:
		if e.B == smpev.CountInCall<<smpev.CheckCountOf {
			return fmt.Sprintf("check %d finds that no handler of a probe has run in the call", n)
		}
		return fmt.Sprintf("check %d finds %d %s", n, uint32(e.B), smpev.Counts.Name(e.B>>smpev.CheckCountOf))
	}
	return fmt.Sprintf("check %d finds %#x returned", n, e.B)
}
