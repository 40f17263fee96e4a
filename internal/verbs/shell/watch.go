package shell

import (
	"fmt"
	"strconv"
	"strings"

	"kpsim/internal/search/replay"
	"kpsim/smp/kapi"
)

// Watchpoints: memory, and variables of the kernel's routines.

// mostWatched is the maximum length of a watchpoint, in bytes.
const mostWatched = 64

// watch is the command watch.
func (h *sh) watch(args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	at, err := h.s.place(unstarred(args[0]))
	if err != nil || len(args) > 2 {
		return gdb{h}.watchCell(strings.Join(args, " "), err)
	}
	s := &stop{says: "watch " + strings.Join(args, " "), at: at, length: 5, cpu: -1}
	if h.s.isData(at) {
		s.length = 8
	}
	if len(args) == 2 {
		if s.length, err = strconv.Atoi(args[1]); err != nil || s.length < 1 || s.length > mostWatched {
			return fmt.Errorf("%s is no number of bytes; write 1 to %d", args[1], mostWatched)
		}
	}
	if len(h.s.bytesAt(s)) < s.length {
		return fmt.Errorf("%s: there aren't %d bytes in memory; x %s shows what is there", args[0], s.length, args[0])
	}
	return h.stops.add(h.p, s)
}

// mostCells limits the names in an error.
const mostCells = 5

// watchCell watches a variable of a kernel routine, by a part of its name. unknown is why the words are no place.
func (h gdb) watchCell(words string, unknown error) error {
	if unknown == nil {
		return errUsage
	}
	m := h.s.Rig.Machine
	var ids []kapi.CellID
	var names []string
	for i := range m.Cells.Count() {
		id := kapi.CellID(i + 1)
		if name := replay.CellName(m, uint64(id)); name == words {
			ids, names = []kapi.CellID{id}, []string{name}
			break
		} else if strings.Contains(strings.ToLower(name), strings.ToLower(words)) {
			ids, names = append(ids, id), append(names, name)
		}
	}
	switch {
	case len(ids) == 0:
		return fmt.Errorf("%w, and no variable of the kernel has that in its name", unknown)
	case len(ids) > 1:
		more := ""
		if n := len(names) - mostCells; n > 0 {
			names, more = names[:mostCells], fmt.Sprintf(" and %d more", n)
		}
		return fmt.Errorf("%s: it may be %s%s; write more of its name", words, strings.Join(names, "; "), more)
	}
	return h.stops.add(h.p, &stop{says: "watch " + names[0], cell: ids[0], cpu: -1})
}

// bytesAt returns the memory that a watchpoint covers.
func (h *machine) bytesAt(s *stop) []byte {
	b := make([]byte, s.length)
	return b[:h.Rig.Machine.Inspect().BytesAt(s.at, b)]
}
