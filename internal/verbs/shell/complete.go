package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"kpsim/properties"
)

// Completion with Tab.

// mostListed is the maximum number of files of a folder that Tab looks at.
const mostListed = 1000

// complete returns the possible words before the cursor; head and tail are the rest of the line.
func (h *sh) complete(line string, pos int) (head string, words []string, tail string) {
	runes := []rune(line)
	pos = min(pos, len(runes))
	before, tail := string(runes[:pos]), string(runes[pos:])
	begin := strings.LastIndexAny(before, " |>") + 1
	head, word := before[:begin], before[begin:]
	var names []string
	for _, name := range h.wordsAfter(head, word) {
		if strings.HasPrefix(name, word) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = fewer(slices.Compact(names))
	if len(names) == 1 && !strings.HasSuffix(names[0], "/") && !strings.HasSuffix(names[0], "=") {
		names[0] += " "
	}
	return head, names, tail
}

// mostOffered is the maximum number of words that Tab lists. With more than 100 the editor would
// ask for confirmation and read what is typed next, even ^C, as the answer.
const mostOffered = 60

// fewer shortens a list that is too long: it returns the names' distinct beginnings in place of
// the names. Their common prefix is unchanged. It overwrites its argument.
func fewer(names []string) []string {
	if len(names) <= mostOffered {
		return names
	}
	first, last := names[0], names[len(names)-1] // names is sorted
	common := 0
	for common < min(len(first), len(last)) && first[common] == last[common] {
		common++
	}
	for common > 0 && !utf8.RuneStart(last[common]) {
		common--
	}
	for i, n := range names {
		if _, size := utf8.DecodeRuneInString(n[common:]); common+size < len(n) {
			names[i] = n[:common+size] + "…"
		}
	}
	names = slices.Compact(names)
	if n := len(names); n > mostOffered {
		names = append(names[:mostOffered-1], names[n-1])
	}
	return names
}

// wordsAfter returns the words that may follow the beginning of a line.
func (h *sh) wordsAfter(head, word string) []string {
	bar := strings.LastIndex(head, "|")
	typed := strings.Fields(head[bar+1:])
	switch {
	case bar >= 0 && len(typed) == 0:
		return filterNames()
	case bar >= 0:
		return nil
	case len(typed) == 0:
		return commandNames()
	}
	w, _, err := wordOf(typed[0])
	if err != nil || w.names == nil {
		return nil
	}
	names := w.names(h.s)
	switch w.word {
	case "open":
		names = append(names, hostFiles(word)...)
	case "delete":
		names = append(names, h.stops.numbers()...)
	}
	return names
}

func commandNames() (names []string) {
	for _, w := range shellWords {
		names = append(append(names, w.word), w.also...)
	}
	return names
}

func (h *machine) symbols() []string {
	names := h.functions()
	for i := range h.Rig.Scenario.Datas {
		names = append(names, h.Rig.Scenario.Datas[i].Name)
	}
	return names
}

// probing returns the options of the commands that make probes.
func (h *machine) probing() []string {
	return append(h.functions(), "at", "post", "nopre", "fault", "disabled", "maxactive=", "entry", "entry=", "leave",
		"data=", "ip=")
}

func (h *machine) breakable() []string {
	return slices.Concat(h.functions(), h.kernelFunctions(), kindNames(), properties.Words())
}

func (h *machine) cpuNumbers() (names []string) {
	for cpu := range h.Rig.Machine.CPUs() {
		names = append(names, strconv.Itoa(cpu))
	}
	return names
}

// printable returns what print takes.
func (h *machine) printable() []string {
	names := slices.Concat(h.symbols(), h.probes())
	for _, reg := range h.Rig.Machine.Arch().RegNames {
		names = append(names, "$"+reg)
	}
	return append(names, "$"+h.Rig.Machine.Arch().IPName)
}

func (h *machine) paths() (names []string) {
	for _, f := range h.files() {
		names = append(names, f.Path(), f.Name)
	}
	return names
}

func (h *machine) taskNames() (names []string) {
	for _, t := range h.Tasks() {
		names = append(names, t.Name)
	}
	return names
}

// allMovers lists the CPUs and the sources of interrupts, whether or not they can move now.
func (h *machine) allMovers() (names []string) {
	m := h.Rig.Machine
	for _, mv := range m.Names().Movers() {
		names = append(names, m.Names().Mover(mv))
	}
	return names
}

// moverNames lists those that can move now.
func (h *machine) moverNames() (names []string) {
	m := h.Rig.Machine
	for _, mv := range m.Names().Movers() {
		if m.Interactive().Can(mv) {
			names = append(names, m.Names().Mover(mv))
		}
	}
	return names
}

func (b *breakpoints) numbers() (names []string) {
	for _, s := range b.list {
		names = append(names, strconv.Itoa(s.n))
	}
	return names
}

// hostFiles returns the traces, scenarios and folders whose paths begin with word.
func hostFiles(word string) (names []string) {
	dir, base := filepath.Split(word)
	f, err := os.Open(filepath.Clean("./" + dir))
	if filepath.IsAbs(dir) {
		f, err = os.Open(dir)
	}
	if err != nil {
		return nil
	}
	defer f.Close()
	list, _ := f.ReadDir(mostListed)
	for _, e := range list {
		switch name := e.Name(); {
		case !strings.HasPrefix(name, base) || base == "" && name[0] == '.':
		case e.IsDir():
			names = append(names, dir+name+"/")
		case strings.HasSuffix(name, ".kps") || strings.HasSuffix(name, ".star"):
			names = append(names, dir+name)
		}
	}
	return names
}
