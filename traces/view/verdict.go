package view

import (
	"fmt"
	"strings"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// verdict prints what was violated, and draws the bytes at the site.
func (t *teller) verdict(p *printer) {
	in := t.in
	if in.Property == "" {
		fmt.Fprintln(p.w, "\nno property is broken")
		return
	}
	fmt.Fprintln(p.w)
	p.text(colours[violates], "", "VIOLATION: "+t.headline())
	if t.at < len(in.Events) && in.Events[t.at].Kind == smpev.Exec {
		t.draw(p, &in.Events[t.at])
	}
}

// Headline returns the violation in one line: what is broken, where, and how, with the
// names that Interleaving prints.
func Headline(in Input) string {
	t := newTeller(&in)
	t.rows() // which collects the names
	return t.headline()
}

// headline is the violation in one line.
func (t *teller) headline() string {
	s := t.in.Property
	if t.in.Place != "" {
		s += " at " + t.in.Place
		if t.at < len(t.in.Events) {
			// Executable memory is named after its purpose.
			if a := t.in.Events[t.at].A; t.in.symbol(a) == t.in.Place && t.text.place(a) != t.in.Place {
				s += " (" + t.text.place(a) + ")"
			}
		}
	}
	if t.in.Message != "" {
		s += ": " + t.in.Arch.InWords(traces.Readable(t.in.Message, t.where, t.in.task, t.in.lock))
	}
	return s
}

// draw prints an instruction above the linked bytes and those in memory, aligned byte by byte.
func (t *teller) draw(p *printer, e *traces.Event) {
	b := unpack(e)
	ran := span{e.A, e.A + uint64(len(b))}
	whole := ran
	site, ok := t.text.site(e.A)
	if !ok && !t.odd(e.A, b) {
		return
	}
	if ok {
		whole = span{min(ran.at, site.at), max(ran.end, site.end)}
	}
	label := t.text.place(whole.at)
	width := 3*int(whole.end-whole.at) - 1
	line := func(what, hex, insns string) {
		s := strings.TrimRight(fmt.Sprintf("  %s  %-9s  %-*s", label, what, width, hex), " ")
		all := strings.TrimRight(fmt.Sprintf("  %s  %-9s  %-*s   %s", label, what, width, hex, insns), " ")
		if p.in.Width > 0 && len(all) > p.in.Width { // the bytes stay aligned
			fmt.Fprintln(p.w, s)
			p.text("", strings.Repeat(" ", 2*hang), insns)
		} else {
			fmt.Fprintln(p.w, all)
		}
		label = strings.Repeat(" ", len(label))
	}
	fmt.Fprintln(p.w)
	if ok {
		line("linked", bytes(t.text.linked, whole), t.text.listing(t.text.linked, whole))
	}
	line("memory", bytes(t.text.mem, whole), t.text.listing(t.text.mem, whole))
	line(fmt.Sprintf("cpu%d runs", e.CPU), strings.Repeat("   ", int(e.A-whole.at))+fmt.Sprintf("% x", b),
		t.text.disassemble(b, e.A))
}

// schedule prints the deviations.
func (t *teller) schedule(p *printer) {
	if t.in.ByHand {
		return
	}
	if len(t.in.Schedule) == 0 {
		fmt.Fprintln(p.w, "\nThe schedule is the default one.")
		return
	}
	fmt.Fprintln(p.w)
	p.text("", "", fmt.Sprintf("The schedule differs from the default one in %s:",
		traces.Counted(uint64(len(t.in.Schedule)), "place")))
	for i, d := range t.in.Schedule {
		p.text("", "  ", d.String())
		if words := scheduled(d); words != "" {
			p.text("", "      ", words)
		}
		if i < len(t.in.Stood) {
			for _, l := range t.in.Stood[i] {
				p.text("", "      ", l)
			}
		}
	}
}
