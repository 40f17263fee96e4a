package shell

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/session"
	"kpsim/internal/ui/cli"
	"kpsim/smp/arch"
)

// Commands that gdb, crash and rr have: info, print, backtrace, list, cpu. Those that move are in onward.go and
// reverse.go.

// A gdb has the commands of a session that are in these files: sh has the others.
type gdb struct{ *sh }

// habit turns one of them into the command of a row.
func habit(do func(h gdb, args []string) error) func(*sh, []string) error {
	return func(h *sh, args []string) error { return do(gdb{h}, args) }
}

// cpuOf returns the CPU that a command is about: that of its argument; else that of the command cpu, next, finish or
// step, or of the breakpoint, whichever was last; else the one that moved last.
func (h gdb) cpuOf(args []string) (int, error) {
	switch {
	case len(args) > 1:
		return 0, errUsage
	case len(args) == 1:
		return h.s.cpu(args[0])
	case h.stops.about >= 0:
		return h.stops.about, nil
	}
	cpu, _, _ := h.s.Rig.Machine.Inspect().Last()
	return cpu, nil
}

// cpu is the command cpu.
func (h gdb) cpu(args []string) error {
	cpu, err := h.cpuOf(args)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		h.stops.about = cpu
	}
	fmt.Fprintf(h.p.Out, "cpu%d  %s, %s\n", cpu, h.s.Rig.Machine.Inspect().Current(cpu).Name, h.s.at(cpu))
	return nil
}

// when is the command when: it says where the run stands.
func (h gdb) when(args []string) error {
	if len(args) > 0 {
		return errUsage
	}
	h.p.Indented("", "at "+h.s.position())
	return nil
}

// An infoWord is a row: what info shows, by another command.
type infoWord struct {
	word string
	also []string
	as   string // the command
}

var infoWords = []infoWord{
	{"registers", []string{"regs"}, "regs"},
	{"breakpoints", []string{"watchpoints"}, "break"},
	{"threads", []string{"tasks", "cpus"}, "where"},
	{"stack", []string{"frame"}, "backtrace"},
	{"probes", []string{"hits"}, "hits"},
	{"modules", nil, "lsmod"},
	{"files", nil, "ls"},
	{"log", nil, "dmesg"},
	{"events", nil, "events"},
	{"symbol", []string{"address"}, "print"},
}

func infoNames() (names []string) {
	for _, w := range infoWords {
		names = append(append(names, w.word), w.also...)
	}
	return names
}

// info is the command info.
func (h gdb) info(args []string) error {
	if len(args) == 0 {
		for _, w := range infoWords {
			fmt.Fprintf(h.p.Out, "info %-12s %s\n", w.word, w.as)
		}
		return nil
	}
	i, err := meant(args[0], "info alone lists what there is", len(infoWords), func(i int) []string {
		return append([]string{infoWords[i].word}, infoWords[i].also...)
	})
	if err != nil {
		return fmt.Errorf("info %w", err)
	}
	w, _, err := wordOf(infoWords[i].as)
	if err != nil {
		return err
	}
	return w.do(h.sh, args[1:])
}

// meant returns the row that a word names, in full or by a beginning that no other row has. names are a row's. An
// error ends with what lists them.
func meant(word, lists string, rows int, names func(i int) []string) (row int, err error) {
	row = -1
	several := false
	var all, begun []string
	for i := range rows {
		for _, n := range names(i) {
			if n == word {
				return i, nil
			}
			all = append(all, n)
			if strings.HasPrefix(n, word) && word != "" {
				begun = append(begun, n)
				several = several || row >= 0 && row != i
				row = i
			}
		}
	}
	switch {
	case several:
		return 0, fmt.Errorf("%s: it may be %s; write more of it", word, cli.List(begun))
	case row < 0:
		near := strings.Replace(nearest.DidYouMean(word, all), "?", "? ", 1)
		return 0, fmt.Errorf("%s: no such command; %s%s", word, near, lists)
	}
	return row, nil
}

// print is the command print: registers, symbols, memory and probes.
func (h gdb) print(args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	if strings.Trim(h.format, gdbLetters) != "" {
		return fmt.Errorf("print/%s: there is no such format; print writes hexadecimal, decimal and symbols as it is",
			h.format)
	}
	for _, a := range args {
		line, err := h.worth(a)
		if err != nil {
			return err
		}
		h.p.Indented("", line)
	}
	return nil
}

// worth describes the value of a word: a register ($rax, rip), *ADDRESS, a probe, a symbol or a number.
func (h gdb) worth(word string) (string, error) {
	m := h.s.Rig.Machine
	if reg := strings.TrimPrefix(word, "$"); reg != word || slices.Contains(m.Arch().RegNames, word) ||
		word == m.Arch().IPName {
		c, err := h.cpuOf(nil)
		if err != nil {
			return "", err
		}
		v, err := h.s.register(c, reg)
		return fmt.Sprintf("cpu%d %s = %s", c, reg, h.s.number(v)), err
	}
	if at, ok := strings.CutPrefix(word, "*"); ok {
		a, err := h.address(at)
		if err != nil {
			return "", err
		}
		var b [8]byte
		if m.Inspect().BytesAt(a, b[:]) < len(b) {
			return "", fmt.Errorf("%s: there aren't 8 bytes in memory; x %s shows what is there", word, at)
		}
		return fmt.Sprintf("%s = %s", word, h.s.number(binary.LittleEndian.Uint64(b[:]))), nil
	}
	if i, ok := h.s.Probe(word); ok {
		at, _ := h.s.Rig.Probe(i)
		return fmt.Sprintf("%s is a probe at %s, %#x", word, m.Names().Symbol(at), uint64(at)), nil
	}
	at, err := h.s.place(word)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s = %s", word, h.s.number(uint64(at))), nil
}

// address reads a place, or $REG or $REG+OFFSET.
func (h gdb) address(word string) (arch.Addr, error) {
	reg, ok := strings.CutPrefix(word, "$")
	if !ok {
		return h.s.place(word)
	}
	reg, off, err := splitPlace(reg)
	if err != nil {
		return 0, err
	}
	cpu, err := h.cpuOf(nil)
	if err != nil {
		return 0, err
	}
	v, err := h.s.register(cpu, reg)
	return arch.Addr(v + uint64(off)), err
}

// register returns a register of a CPU by its name; pc, ip and sp are understood on every processor.
func (h *machine) register(cpu int, name string) (uint64, error) {
	m := h.Rig.Machine
	regs, _ := m.Inspect().Regs(cpu)
	switch i := slices.Index(m.Arch().RegNames, name); {
	case i >= 0:
		return regs.R[i], nil
	case slices.Contains([]string{m.Arch().IPName, "pc", "ip"}, name):
		return uint64(regs.IP), nil
	case name == "sp":
		return uint64(m.Arch().StackPointer(&regs)), nil
	case name == "flags" || name == "eflags":
		return regs.Flags, nil
	}
	return 0, fmt.Errorf("no register is called %s; there are %s, %s", name, cli.List(m.Arch().RegNames),
		m.Arch().IPName)
}

// number prints a value in hexadecimal, and as a symbol or in decimal if it looks like an address or is short.
func (h *machine) number(v uint64) string {
	if _, _, ok := h.Rig.Machine.Names().SymbolAt(arch.Addr(v)); ok {
		return fmt.Sprintf("%#x <%s>", v, h.Rig.Machine.Names().Symbol(arch.Addr(v)))
	}
	if n := int64(v); n > -1<<24 && n < 1<<32 {
		return fmt.Sprintf("%#x (%d)", v, n)
	}
	return fmt.Sprintf("%#x", v)
}

// backtrace is the command backtrace.
func (h gdb) backtrace(args []string) error {
	cpu, err := h.cpuOf(args)
	if err != nil {
		return err
	}
	task := h.s.Rig.Machine.Inspect().Current(cpu)
	fmt.Fprintf(h.p.Out, "cpu%d  %s\n", cpu, task.Name)
	n := 0
	row := func(says string) {
		fmt.Fprintf(h.p.Out, "  #%d  %s\n", n, says)
		n++
	}
	for depth, l := range h.s.Rig.Machine.Inspect().Levels(task) {
		switch {
		case !l.Text():
			says := l.Place
			if l.Step > 0 {
				says += fmt.Sprintf(" step %d", l.Step)
			}
			if l.Trap {
				says += "   (a trap)"
			}
			row(says)
		default:
			for _, says := range h.frames(&l, cpu, depth) {
				row(says)
			}
		}
	}
	if n == 0 {
		row("idle")
	}
	return nil
}

// callersWords limits how much of a stack is read for return addresses, in words.
const callersWords = 64

// callers returns the words of a stack from sp on that are return addresses of direct calls of the scenario's
// functions.
func (h *machine) callers(sp arch.Addr) (list []arch.Addr) {
	m := h.Rig.Machine
	word := m.Arch().Word
	for i := range callersWords {
		b := make([]byte, 8)
		if m.Inspect().BytesAt(sp+arch.Addr(i*int(word)), b[:word]) < int(word) {
			break
		}
		if a := arch.Addr(binary.LittleEndian.Uint64(b)); h.afterCall(a) {
			list = append(list, a)
		}
	}
	return list
}

// afterCall reports whether a direct call in one of the scenario's functions ends at an address.
func (h *machine) afterCall(a arch.Addr) bool {
	for i := range h.Rig.Scenario.Texts {
		t := &h.Rig.Scenario.Texts[i]
		for off := 0; a > t.At && a <= t.At+arch.Addr(len(t.Code)) && off < len(t.Code); {
			in, err := h.Rig.Machine.Arch().Decode(t.Code[off:], t.At+arch.Addr(off))
			if err != nil {
				break
			}
			if in.Next() == a {
				return in.Flow() == arch.FlowCall
			}
			off += in.Size()
		}
	}
	return false
}

// list is the command list: it prints the scenario, as a trace has it.
func (h gdb) list(args []string) error {
	if len(args) > 0 {
		return errUsage
	}
	for line := range strings.Lines(lang.Print(h.s.Rig.Scenario)) {
		h.p.Indented("", strings.TrimRight(line, "\n"))
	}
	return nil
}

// atLimit turns the error of a command that has made as many steps as one may make into an answer.
func (h *sh) atLimit(err error) error {
	if !errors.Is(err, session.ErrLimit) {
		return err
	}
	h.p.Indented("", err.Error()+", and it can go on: continue makes as many again; where and events say what it does")
	return nil
}

// gdbLetters are the formats of gdb that are accepted, and change nothing.
const gdbLetters = "xduota"

// gdbUnits are the sizes of gdb's x, in bytes.
var gdbUnits = map[rune]int{'b': 1, 'h': 2, 'w': 4, 'g': 8}

// gdbFormat reads what is behind the slash of x/4i and x/16xb: a count, and letters. insns is how many instructions
// are asked for, 0: none; else words of unit bytes, bytes in all.
func gdbFormat(format string) (insns, bytes, unit int, err error) {
	digits := strings.IndexFunc(format, func(c rune) bool { return c < '0' || c > '9' })
	if digits < 0 {
		digits = len(format)
	}
	n := 1
	if digits > 0 {
		if n, err = strconv.Atoi(format[:digits]); err != nil || n < 1 || n > 4096 {
			return 0, 0, 0, fmt.Errorf("x/%s: %s is no count; write 1 to 4096", format, format[:digits])
		}
	}
	unit = 1
	for _, c := range format[digits:] {
		size, ok := gdbUnits[c]
		switch {
		case c == 'i':
			return n, 0, 0, nil
		case ok:
			unit = size
		case !strings.ContainsRune(gdbLetters, c):
			return 0, 0, 0, fmt.Errorf("x/%s: there is no format %c; write x/4i for instructions, x/16xb for bytes",
				format, c)
		}
	}
	return 0, n * unit, unit, nil
}
