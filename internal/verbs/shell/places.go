package shell

import (
	"fmt"
	"kpsim/internal/scenario"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
	"kpsim/traces"
	"slices"
	"strconv"
	"strings"
)

// Places in text and memory, as commands take them.

// place reads SYMBOL, SYMBOL+OFFSET or a number.
func (h *machine) place(s string) (arch.Addr, error) {
	if n, err := strconv.ParseUint(s, 0, 64); err == nil {
		return arch.Addr(n), nil
	}
	name, off, err := splitPlace(s)
	if err != nil {
		return 0, err
	}
	at, _, ok := h.Rig.Machine.Names().FindSymbol(name)
	if !ok {
		return 0, fmt.Errorf("no symbol is called %s, and it is no number of 64 bits; %s", name,
			thereAre(h.symbols()))
	}
	return at + arch.Addr(off), nil
}

func splitPlace(s string) (name string, off int, err error) {
	name, rest, ok := strings.Cut(s, "+")
	if !ok {
		return name, 0, nil
	}
	n, err := strconv.ParseUint(rest, 0, 31)
	if err != nil {
		return "", 0, fmt.Errorf("%s: what is behind the + is no offset; write it %s+0x4", s, name)
	}
	return name, int(n), nil
}

// isPlace reports whether a word is an address, or a place in a function of the scenario.
func (h *machine) isPlace(word string) bool {
	symbol, _, _ := strings.Cut(word, "+")
	_, err := strconv.ParseUint(word, 0, 64)
	return err == nil || slices.Contains(h.functions(), symbol)
}

// narrow makes the stop at an event one for a CPU, or for a place that the event is about.
func (h *machine) narrow(s *stop, word string) (err error) {
	place := unstarred(word)
	symbol, _, _ := strings.Cut(place, "+")
	if !slices.Contains(h.symbols(), symbol) && !strings.HasPrefix(place, "0x") {
		if s.cpu, err = h.cpu(word); err != nil {
			err = fmt.Errorf("%w; nor is it a place: write 0xADDRESS, or a symbol; %s", err, thereAre(h.symbols()))
		}
		return err
	}
	if args := s.kind.Spec().Args; len(args) == 0 || !slices.Contains(addressed, args[0].Name) {
		return fmt.Errorf("the event %v is about no address; write break %v, or break TextStore %s", s.kind, s.kind,
			word)
	}
	return h.around(s, place)
}

// addressed are the names of first arguments that are addresses.
var addressed = []string{"addr", "ip"}

// around makes the stop at an event one for a place: a whole function, or the byte at an address.
func (h *machine) around(s *stop, place string) (err error) {
	s.at, err = h.place(place)
	s.size = 1
	if _, size, ok := h.Rig.Machine.Names().FindSymbol(place); ok {
		s.size = uint64(size)
	}
	return err
}

// about reports whether an event is one of the stop's: by its kind, CPU and place.
func (s *stop) about(e *traces.Event) bool {
	if e.Kind != s.kind || s.cpu >= 0 && s.cpu != int(e.CPU) {
		return false
	}
	size := uint64(1)
	if e.Kind == smpev.TextStore {
		size = e.C
	}
	return s.size == 0 || e.A < uint64(s.at)+s.size && uint64(s.at) < e.A+size
}

// reachable returns an error if no CPU can ever execute an instruction at a place. The remark
// warns where the linked code has no instruction boundary: patched code may have one.
func (h *machine) reachable(name string, at arch.Addr) (remark string, err error) {
	function, _, inFunction := strings.Cut(name, "+")
	for i := range h.Rig.Scenario.Texts {
		t := &h.Rig.Scenario.Texts[i]
		switch off := int64(at - t.At); {
		case off >= 0 && off < int64(len(t.Code)):
			return h.inside(t, int(off)), nil
		case inFunction && t.Name == function:
			return "", fmt.Errorf("%s is beyond %s, which has %d bytes; text %s lists its instructions", name, t.Name,
				len(t.Code), t.Name)
		}
	}
	if _, _, known := h.Rig.Machine.Names().SymbolAt(at); !known { // slots are allocated during a run
		f := h.aFunction()
		return "", fmt.Errorf("%s: no code is at this address; write break %s, or an address that text %s prints", name,
			f, f)
	}
	return "", nil
}

// inside is the remark on a place inside an instruction of the linked code.
func (h *machine) inside(t *scenario.Text, off int) string {
	begin := 0
	for at := 0; at <= off; {
		_, n := h.disassemble(t.Code[at:], t.At+arch.Addr(at))
		begin, at = at, at+n
	}
	if begin == off {
		return ""
	}
	return fmt.Sprintf("%s+%#x is inside the instruction at %s+%#x: a CPU comes there only through code that is "+
		"patched", t.Name, off, t.Name, begin)
}

// unstarred removes the star of gdb's *ADDRESS.
func unstarred(word string) string { return strings.TrimPrefix(word, "*") }
