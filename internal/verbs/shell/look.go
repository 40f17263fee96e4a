package shell

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kpsim/internal/search/replay"
	"kpsim/internal/ui/cli"
	"kpsim/internal/verbs/report"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/smpev"
	"kpsim/traces"
	"kpsim/traces/view"
)

// Commands that show the stopped machine.

// at describes where a CPU stands. A routine's place is its last step that has a number: it may have made more since.
func (h *machine) at(cpu int) string {
	m := h.Rig.Machine
	name, off, text := m.Names().Where(sim.Mover(cpu))
	switch {
	case text:
		return fmt.Sprintf("at %s+%#x", name, off)
	case off > 0:
		return fmt.Sprintf("at %s step %d or after it", name, off)
	case name == "idle":
		return name
	}
	return "in " + name
}

func (h *sh) where(args []string) error {
	if len(args) > 0 {
		return errUsage
	}
	m := h.s.Rig.Machine
	for cpu := range m.CPUs() {
		line := fmt.Sprintf("cpu%d  %s", cpu, h.s.at(cpu))
		if t := m.Inspect().Current(cpu); !t.Idle() {
			line = fmt.Sprintf("cpu%d  %s, %s", cpu, t.Name, h.s.at(cpu))
		}
		ipi, open := m.Inspect().Pending(cpu)
		if !open {
			line += ", interrupts off"
		}
		if ipi {
			line += ", IPI pending"
		}
		var queue []string
		for _, t := range m.Inspect().Queue(cpu) {
			queue = append(queue, t.Name)
		}
		if len(queue) > 0 {
			line += "; wants to run: " + cli.List(queue)
		}
		h.p.Indented("", line)
	}
	if s := m.Inspect().Waiting(); s != "" {
		h.p.Indented("", s)
	}
	if held := h.s.held(); len(held) > 0 {
		h.p.Indented("", "not begun: "+cli.List(held))
	}
	if h.s.Run == nil {
		h.p.Indented("", fmt.Sprintf("%s so far, digest %016x; can move: %s",
			cli.Number(m.Interactive().Steps(), "step"), h.s.digest(), h.s.movers()))
	}
	return nil
}

// digest is equal where the events so far, registers and memory are: after going back and forth, and on each computer.
func (h *machine) digest() uint64 {
	state := h.Rig.Machine.State()
	sum := state.Memory()
	state.Add(&sum)
	sum.Add(h.Rig.Log.Digest())
	return sum.Hi ^ sum.Lo
}

// stuck ends the description of a machine in which nothing can move: it names a command that
// helps.
func (h *machine) stuck() string {
	switch held := h.held(); {
	case len(held) > 0:
		return "; start lets " + cli.List(held) + " begin"
	case !slices.ContainsFunc(h.Tasks(), func(t *smp.Task) bool { return !t.Dead() }):
		return "; every task is at its end, and call or register can still be typed"
	}
	return ""
}

// held returns the tasks that haven't started.
func (h *machine) held() (names []string) {
	for _, t := range h.Tasks() {
		if t.Held() {
			names = append(names, t.Name)
		}
	}
	return names
}

// task returns the scenario's task of that name, or nil.
func (h *machine) task(name string) *smp.Task {
	for _, t := range h.Tasks() {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// movers lists what can move next.
func (h *machine) movers() string {
	names := h.moverNames()
	if len(names) == 0 {
		return "nobody"
	}
	return cli.List(names)
}

func (h *sh) regs(args []string) error {
	m := h.s.Rig.Machine
	first, last := 0, m.CPUs()-1
	if len(args) > 1 {
		return errUsage
	}
	if len(args) == 1 {
		cpu, err := h.s.cpu(args[0])
		if err != nil {
			return err
		}
		first, last = cpu, cpu
	}
	for cpu := first; cpu <= last; cpu++ {
		r, kernel := m.Inspect().Regs(cpu)
		fmt.Fprintf(h.p.Out, "cpu%d  %s, %s\n", cpu, m.Inspect().Current(cpu).Name, h.s.at(cpu))
		const cell, row = 22, 4
		beside := row
		for h.p.Width > 0 && beside > 1 && beside*cell > h.p.Width {
			beside /= 2
		}
		for i, name := range m.Arch().RegNames {
			fmt.Fprintf(h.p.Out, "  %-3s %016x", name, r.R[i])
			if i%beside == beside-1 {
				fmt.Fprintln(h.p.Out)
			}
		}
		if kernel {
			fmt.Fprintf(h.p.Out, "  flags %#x\n", r.Flags)
		} else {
			fmt.Fprintf(h.p.Out, "  %s %016x  flags %#x\n", m.Arch().IPName, uint64(r.IP), r.Flags)
		}
	}
	return nil
}

// disassemble returns the first instruction of b with symbol names, and its length n, which is the least
// that one may have for invalid bytes.
func (h *machine) disassemble(b []byte, at arch.Addr) (s string, n int) {
	in, err := h.Rig.Machine.Arch().Decode(b, at)
	if err != nil {
		return "(no instruction)", h.Rig.Machine.Arch().Align
	}
	s = in.String()
	if to, ok := in.Target(); ok {
		s = strings.Replace(s, fmt.Sprintf("%#x", uint64(to)), h.Rig.Machine.Names().Symbol(to), 1)
	}
	return s, in.Size()
}

// text lists a function: its bytes in memory, and the original ones where they differ.
func (h *sh) text(args []string) error {
	if len(args) > 1 {
		return errUsage
	}
	if len(args) == 0 {
		cpu, err := gdb{h}.cpuOf(nil)
		if err != nil {
			return err
		}
		name, _, text := h.s.Rig.Machine.Names().Where(sim.Mover(cpu))
		if !text || !slices.Contains(h.s.functions(), name) {
			return fmt.Errorf("cpu%d is in no function: it is %s; write text %s", cpu, h.s.at(cpu), h.s.aFunction())
		}
		args = []string{name}
	}
	if err := h.s.function(args[0]); err != nil {
		return err
	}
	if m := h.s.missing(args[0]); m != "" {
		fmt.Fprintf(h.p.Out, "%s isn't in memory: the module %s isn't loaded\n", args[0], m)
		return nil
	}
	m := h.s.Rig.Machine
	for i := range h.s.Rig.Scenario.Texts {
		t := &h.s.Rig.Scenario.Texts[i]
		if t.Name != args[0] {
			continue
		}
		now := make([]byte, len(t.Code))
		if n := m.Inspect().BytesAt(t.At, now); n < len(now) {
			fmt.Fprintf(h.p.Out, "%s isn't in memory\n", t.Name)
			return nil
		}
		fmt.Fprintf(h.p.Out, "  %-18s %-24s %s\n", "place", "in memory", "instruction (was: as linked)   <- CPUs there")
		for off := 0; off < len(now); {
			was, n := h.s.disassemble(t.Code[off:], t.At+arch.Addr(off))
			end := min(off+n, len(now))
			if bytes.Equal(now[off:end], t.Code[off:end]) {
				h.row(t.At+arch.Addr(off), now[off:end], was)
				off = end
				continue
			}
			is, n := h.s.disassemble(now[off:], t.At+arch.Addr(off))
			for end < min(off+n, len(now)) {
				s, k := h.s.disassemble(t.Code[end:], t.At+arch.Addr(end))
				was, end = was+"; "+s, min(end+k, len(now))
			}
			h.row(t.At+arch.Addr(off), now[off:end], fmt.Sprintf("%s   (was % x: %s)", is, t.Code[off:end], was))
			h.stale(t.At+arch.Addr(off), now[off:end])
			off = end
		}
	}
	return nil
}

// row prints bytes and their disassembly.
func (h *sh) row(at arch.Addr, b []byte, says string) {
	m := h.s.Rig.Machine
	where := fmt.Sprintf("%#x", uint64(at))
	if _, _, ok := m.Names().SymbolAt(at); ok {
		where = m.Names().Symbol(at)
	}
	for cpu := range m.CPUs() {
		if h.s.standing(at)>>cpu&1 != 0 {
			says += fmt.Sprintf("   <- cpu%d", cpu)
		}
	}
	fmt.Fprintf(h.p.Out, "  %-18s %-24s %s\n", where, fmt.Sprintf("% x", b), says)
}

// stale prints which CPUs may fetch bytes other than those in memory.
func (h *sh) stale(at arch.Addr, now []byte) {
	m := h.s.Rig.Machine
	old := make([]byte, len(now))
	for cpu := range m.CPUs() {
		if m.Inspect().OldestAt(cpu, at, old); !bytes.Equal(old, now) {
			fmt.Fprintf(h.p.Out, "  %-18s % x\n", fmt.Sprintf("  cpu%d may fetch", cpu), old)
			gdb{h}.between(cpu, at, now, old)
		}
	}
}

// mostBetween is the number of further bytes that a CPU may fetch which text prints; mostMixed limits how many
// combinations of versions are tried.
const (
	mostBetween = 4
	mostMixed   = 4096
)

// between prints what else a CPU may fetch than the bytes in memory and the oldest ones: versions between them, and
// mixtures.
func (h gdb) between(cpu int, at arch.Addr, now, old []byte) {
	list, all := h.s.Rig.Machine.Inspect().SeenAt(cpu, at, now, mostMixed)
	list = slices.DeleteFunc(list, func(b []byte) bool { return bytes.Equal(b, now) || bytes.Equal(b, old) })
	if len(list) == 0 {
		return
	}
	says := strconv.Itoa(len(list)) + " more"
	if !all {
		says = "over " + says
	}
	var first []string
	for _, b := range list[:min(mostBetween, len(list))] {
		first = append(first, fmt.Sprintf("% x", b))
	}
	if len(first) < len(list) || !all {
		first = append(first, "…")
	}
	fmt.Fprintf(h.p.Out, "  %-18s %s\n", "    and "+says, strings.Join(first, ", "))
}

func (h *sh) examine(args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return errUsage
	}
	at, err := gdb{h}.address(args[0])
	if err != nil {
		return err
	}
	n, insns, unit := 16, 0, 0 // of data, 8
	if h.format != "" {
		if insns, n, unit, err = gdbFormat(h.format); err != nil {
			return err
		}
		if insns > 0 {
			n = insns * x86.MaxLen
		}
	}
	if len(args) == 2 {
		if n, err = strconv.Atoi(args[1]); err != nil || n < 1 || n > 4096 {
			return fmt.Errorf("%s is no number of bytes; write 1 to 4096", args[1])
		}
	}
	b := make([]byte, n+x86.MaxLen)
	mapped := h.s.Rig.Machine.Inspect().BytesAt(at, b)
	if mapped == 0 {
		return fmt.Errorf("nothing is in memory at %#x", uint64(at))
	}
	n = min(n, mapped)
	if unit == 0 && insns == 0 && h.s.isData(at) {
		unit = 8
	}
	if unit > n {
		return fmt.Errorf("%s: there aren't %d bytes in memory; x %s shows what is there", args[0], unit, args[0])
	}
	for off := 0; unit > 0 && off+unit <= n; off += unit {
		word := make([]byte, 8)
		copy(word, b[off:off+unit])
		h.row(at+arch.Addr(off), b[off:off+unit], fmt.Sprintf("%#x", binary.LittleEndian.Uint64(word)))
	}
	if unit > 0 {
		return nil
	}
	off := 0
	for made := 0; off < n && (insns == 0 || made < insns); made++ {
		s, k := h.s.disassemble(b[off:mapped], at+arch.Addr(off))
		h.row(at+arch.Addr(off), b[off:min(off+k, mapped)], s)
		off += k
	}
	h.stale(at, b[:min(n, off)])
	return nil
}

// isData reports whether an address lies in the scenario's data.
func (h *machine) isData(at arch.Addr) bool {
	for i := range h.Rig.Scenario.Datas {
		if d := &h.Rig.Scenario.Datas[i]; at >= d.At && at < d.At+arch.Addr(len(d.Bytes)) {
			return true
		}
	}
	return false
}

func (h *sh) hits(args []string) error {
	if len(args) > 0 {
		return errUsage
	}
	list := report.HitsOf(h.s.Rig, &h.s.Tally)
	if len(list) == 0 {
		fmt.Fprintln(h.p.Out, "there is no probe; kprobe makes one, as kprobe p at "+h.s.aFunction())
	}
	for _, l := range list {
		h.p.Indented("", l.Line)
	}
	return nil
}

func (h *sh) dmesg(args []string) error {
	if len(args) > 0 {
		return errUsage
	}
	if len(h.s.Lines) == 0 {
		fmt.Fprintln(h.p.Out, "(nothing)")
	}
	for _, l := range h.s.Lines {
		fmt.Fprintln(h.p.Out, l)
	}
	return nil
}

func (h *sh) events(args []string) error {
	in := replay.Scene(h.s.Rig, h.s.Run)
	in.ByHand, in.Rows, in.Width, in.Paint = true, 30, h.p.Width, h.p.Paint
	switch len(args) {
	case 0:
	case 1:
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 {
			return errUsage
		}
		in.Rows = n
	default:
		return errUsage
	}
	if h.s.Rig.Machine.Interactive().Steps() == 0 {
		fmt.Fprintln(h.p.Out, "nothing has happened yet"+h.s.stuck())
		return nil
	}
	return view.Interleaving(h.p.Out, in)
}

// sinceMost is the largest number of events that step and next print.
const sinceMost = 12

// printSince prints the events after the first before ones, as the command events has them, the last sinceMost at most.
func printSince(h *sh, before int) {
	list := h.s.Rig.Log.Events
	if h.replaying || before >= len(list) {
		return
	}
	in := replay.Scene(h.s.Rig, h.s.Run)
	in.ByHand = true
	lines := view.Since(in, list[before].Seq)
	if n := len(lines) - sinceMost; n > 0 {
		fmt.Fprintf(h.p.Out, "       ... %s more; events lists them ...\n", cli.Number(n, "row"))
		lines = lines[n:]
	}
	for _, l := range lines {
		h.p.Indented("", l)
	}
}

// describe returns an event in words, without its number and CPU. Bytes of text are written as watch and text write
// them.
func (h *machine) describe(e *traces.Event) string {
	words := strings.Fields(h.Rig.Readable(e.String()))
	words = words[min(2, len(words)):]
	at := h.Rig.Machine.Names().SymbolName(e.A)
	switch {
	case len(words) < 2:
	case e.Kind == smpev.TextStore:
		b := binary.LittleEndian.AppendUint64(nil, e.B)
		return fmt.Sprintf("%s %s at %s: % x", words[0], words[1], at, b[:min(e.C, 8)])
	case e.Kind == smpev.Exec:
		b, n := traces.UnpackBytes(e.B, e.C)
		return fmt.Sprintf("%s %s at %s: % x", words[0], words[1], at, b[:n])
	}
	return strings.Join(words, " ")
}
