package export

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"kpsim/traces"
	"kpsim/traces/view"
)

// The sizes of a page, and of the head of one, in bytes.
const (
	datPage = 4096
	datHead = 16
)

// datPageFormat tells a reader where a page has its time and its length. The reader looks for
// these names.
var datPageFormat = fmt.Sprintf("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"+
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"+
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"+
	"\tfield: char data;\toffset:%d;\tsize:%d;\tsigned:1;\n", datHead, datPage-datHead)

const datEventFormat = "\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n" +
	"\tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n"

// TraceDat writes a trace.dat file, version 6 (trace-cmd.dat.v6(5)), for trace-cmd and
// KernelShark. It has the records of Ftrace, and a system of its own for events without a
// tracepoint in the kernel. Errors are those of w.
func TraceDat(w io.Writer, s *view.Scene, task func(id uint64) string) error {
	list := records(s, task)
	d := &dat{s: s, kinds: make(map[traces.Kind]*tracepoint), pages: make([]pages, s.CPUs)}
	for i := range list {
		r := &list[i]
		p, values := d.point(r)
		d.pages[r.cpu].add(r.time, p.bytes(r, values))
	}
	for i := range d.pages {
		d.pages[i].close()
	}
	_, err := w.Write(d.file(list))
	return err
}

type dat struct {
	s     *view.Scene
	kinds map[traces.Kind]*tracepoint
	pages []pages // by CPU
}

// point returns the tracepoint of a record, and the values of its fields.
func (d *dat) point(r *record) (*tracepoint, []any) {
	if r.event != mark {
		return kernelPoints[r.event], r.values
	}
	if r.deviation {
		return deviationPoint, []any{strings.TrimPrefix(r.args, "deviation: ")}
	}
	e := &d.s.Steps[r.step].Event
	p := d.kinds[e.Kind]
	if p == nil {
		p = kindPoint(e.Kind)
		d.kinds[e.Kind] = p
	}
	return p, []any{r.args, e.A, e.B, e.C}
}

// file returns the file: the head, and the pages of each CPU.
func (d *dat) file(list []record) []byte {
	le := binary.LittleEndian
	var b []byte
	text32 := func(s string) { b = append(le.AppendUint32(b, uint32(len(s))), s...) }
	text64 := func(s string) { b = append(le.AppendUint64(b, uint64(len(s))), s...) }
	b = append(b, "\x17\x08\x44tracing6\x00"...)
	b = append(b, 0, 8) // little-endian, and the size of a long
	b = le.AppendUint32(b, datPage)
	b = append(b, "header_page\x00"...)
	text64(datPageFormat)
	b = append(b, "header_event\x00"...)
	text64(datEventFormat)
	b = le.AppendUint32(b, 0) // events of ftrace's own
	systems := d.systems()
	b = le.AppendUint32(b, uint32(len(systems)))
	for _, points := range systems {
		b = append(append(b, points[0].system...), 0)
		b = le.AppendUint32(b, uint32(len(points)))
		for _, p := range points {
			text64(p.format())
		}
	}
	text32("") // kallsyms: addresses have their names in the texts
	text32("") // formats of trace_printk
	text64(comms(list))
	b = le.AppendUint32(b, uint32(d.s.CPUs))
	b = append(b, "options  \x00"...)
	b = le.AppendUint16(b, 0)
	b = append(b, "flyrecord\x00"...)
	at := up(len(b)+16*d.s.CPUs, datPage)
	for i := range d.pages {
		size := len(d.pages[i].data)
		b = le.AppendUint64(le.AppendUint64(b, uint64(at)), uint64(size))
		at += size
	}
	b = append(b, make([]byte, up(len(b), datPage)-len(b))...)
	for i := range d.pages {
		b = append(b, d.pages[i].data...)
	}
	return b
}

// systems returns the tracepoints of the file, by their systems: all of the kernel's, and
// those of kpsim that occur.
func (d *dat) systems() [][]*tracepoint {
	list := []*tracepoint{deviationPoint}
	list = slices.AppendSeq(list, maps.Values(kernelPoints))
	list = slices.AppendSeq(list, maps.Values(d.kinds))
	slices.SortFunc(list, func(a, b *tracepoint) int { return int(a.id) - int(b.id) })
	var systems [][]*tracepoint
	for _, p := range list {
		i := slices.IndexFunc(systems, func(s []*tracepoint) bool { return s[0].system == p.system })
		if i < 0 {
			systems, i = append(systems, nil), len(systems)
		}
		systems[i] = append(systems[i], p)
	}
	return systems
}

// comms returns the tasks' names in the form of saved_cmdlines.
func comms(list []record) string {
	var b strings.Builder
	seen := make(map[uint64]bool)
	for i := range list {
		if r := &list[i]; !seen[r.pid] && r.pid != 0 {
			seen[r.pid] = true
			fmt.Fprintf(&b, "%d %s\n", r.pid, r.comm)
		}
	}
	return b.String()
}

// up rounds n up to a multiple of size.
func up(n, size int) int { return (n + size - 1) / size * size }

// pages are a CPU's part of the ring buffer. Each page has the time of its first event and the
// length of its events. The events follow, each with the time since the previous one.
type pages struct {
	data []byte
	from int // where the last page begins
	last uint64
}

// Kinds of entry, and the bits of the time in one.
const (
	longest    = 28 // up to this value: the length in words
	timeExtend = 30
	deltaBits  = 27
	mostDelta  = deltaBits + 32 // including a timeExtend
)

// add appends an event. A page has room for any.
func (p *pages) add(time uint64, event []byte) {
	le := binary.LittleEndian
	event = append(event, make([]byte, up(len(event), 4)-len(event))...)
	room := p.from + datPage - len(p.data)
	// an entry for much time, the head, the length
	if len(p.data) == 0 || room < 8+8+len(event) || (time-p.last)>>mostDelta > 0 {
		p.close()
		p.from, p.last = len(p.data), time
		p.data = le.AppendUint64(le.AppendUint64(p.data, time), 0)
	}
	delta := time - p.last
	p.last = time
	if delta >= 1<<deltaBits {
		p.data = le.AppendUint32(p.data, uint32(delta&(1<<deltaBits-1))<<5|timeExtend)
		p.data = le.AppendUint32(p.data, uint32(delta>>deltaBits))
		delta = 0
	}
	if words := len(event) / 4; words <= longest {
		p.data = le.AppendUint32(p.data, uint32(delta)<<5|uint32(words))
	} else {
		p.data = le.AppendUint32(p.data, uint32(delta)<<5)
		p.data = le.AppendUint32(p.data, uint32(len(event)+4))
	}
	p.data = append(p.data, event...)
	le.PutUint64(p.data[p.from+8:], uint64(len(p.data)-p.from-datHead))
}

// close pads the last page.
func (p *pages) close() {
	p.data = append(p.data, make([]byte, up(len(p.data), datPage)-len(p.data))...)
}
