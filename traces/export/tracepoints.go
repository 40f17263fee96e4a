package export

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"

	"kpsim/traces"
)

// A tracepoint is a kind of event as a trace.dat file describes it. The file has a text for
// each, like the kernel's format files, and readers know nothing else about it.
type tracepoint struct {
	system, name string
	id           uint16
	fields       []field
	print        string // the format and its arguments
}

// A field is a member of an event's struct.
type field struct {
	decl   string // its type and name in C
	size   int    // in bytes
	signed bool
	text   byte // 0: a number; comm: chars of a fixed size; dynamic: their place, the chars come last
}

const (
	comm    = 'c'
	dynamic = 'd'
)

// common are the fields that each event begins with, in 8 bytes.
var common = []field{{decl: "unsigned short common_type", size: 2}, {decl: "unsigned char common_flags", size: 1},
	{decl: "unsigned char common_preempt_count", size: 1}, {decl: "int common_pid", size: 4, signed: true}}

func chars(name string) field {
	return field{fmt.Sprintf("char %s[%d]", name, commLen+1), commLen + 1, false, comm}
}
func integer(name string) field { return field{"int " + name, 4, true, 0} }
func word(name string) field    { return field{"__u64 " + name, 8, false, 0} }
func str(name string) field     { return field{"__data_loc char[] " + name, 4, false, dynamic} }

// kernelPoints are the kernel's tracepoints that records use, by name. Their ids are not those
// of any kernel: each file states its own.
var kernelPoints = func() map[string]*tracepoint {
	list := []*tracepoint{
		{system: "sched", name: "sched_switch",
			fields: []field{chars("prev_comm"), integer("prev_pid"), integer("prev_prio"),
				{"long prev_state", 8, true, 0}, chars("next_comm"), integer("next_pid"), integer("next_prio")},
			print: `"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s next_pid=%d next_prio=%d", REC->prev_comm, REC->prev_pid, REC->prev_prio, ` +
				`__print_symbolic(REC->prev_state, { 0x0, "R" }, { 0x1, "S" }, { 0x10, "X" }, { 0x100, "R+" }), REC->next_comm, REC->next_pid, REC->next_prio`},
		{system: "sched", name: "sched_waking",
			fields: []field{chars("comm"), integer("pid"), integer("prio"), integer("target_cpu")},
			print:  `"comm=%s pid=%d prio=%d target_cpu=%03d", REC->comm, REC->pid, REC->prio, REC->target_cpu`},
		{system: "sched", name: "sched_wakeup",
			fields: []field{chars("comm"), integer("pid"), integer("prio"), integer("target_cpu")},
			print:  `"comm=%s pid=%d prio=%d target_cpu=%03d", REC->comm, REC->pid, REC->prio, REC->target_cpu`},
		{system: "sched", name: "sched_process_exit",
			fields: []field{chars("comm"), integer("pid"), integer("prio")},
			print:  `"comm=%s pid=%d prio=%d", REC->comm, REC->pid, REC->prio`},
		{system: "ipi", name: "ipi_send_cpumask",
			fields: []field{str("cpumask"), str("callback")},
			print:  `"cpumask=%s callsite=kpsim callback=%s", __get_str(cpumask), __get_str(callback)`},
	}
	for _, v := range []string{"local_timer", "reschedule", "call_function"} {
		for _, end := range []string{"_entry", "_exit"} {
			list = append(list, &tracepoint{system: "irq_vectors", name: v + end, fields: []field{integer("vector")},
				print: `"vector=%d", REC->vector`})
		}
	}
	points := make(map[string]*tracepoint)
	for i, p := range list {
		p.id = uint16(firstPoint + i)
		points[p.name] = p
	}
	return points
}()

// The ids are those of the kernel's tracepoints, of deviations, and of kinds of events.
const (
	firstPoint  = 300
	deviationID = 400
	firstKind   = 500
)

// deviationPoint is the tracepoint of decisions other than the default ones.
var deviationPoint = &tracepoint{system: "kpsim", name: "deviation", id: deviationID, fields: []field{str("says")},
	print: `"%s", __get_str(says)`}

// kindPoint describes a kind of event without a tracepoint in the kernel: the page's text for
// it, and its arguments.
func kindPoint(k traces.Kind) *tracepoint {
	p := &tracepoint{system: "kpsim", name: k.String(), id: firstKind + uint16(k), fields: []field{str("says")}}
	format, args := "%s", "__get_str(says)"
	for _, a := range k.Spec().Args {
		p.fields = append(p.fields, word(a.Name))
		format += " " + a.Name + "=0x%llx"
		args += ", REC->" + a.Name
	}
	p.print = `"` + format + `", ` + args
	return p
}

// format returns the text that describes the tracepoint.
func (p *tracepoint) format() string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\nID: %d\nformat:\n", p.name, p.id)
	at := 0
	write := func(list []field) {
		for _, f := range list {
			at = aligned(at, f)
			sign := 0
			if f.signed {
				sign = 1
			}
			fmt.Fprintf(&b, "\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n", f.decl, at, f.size, sign)
			at += f.size
		}
		b.WriteByte('\n')
	}
	write(common)
	write(p.fields)
	fmt.Fprintf(&b, "print fmt: %s\n", p.print)
	return b.String()
}

// aligned returns the first offset from at on at which a field may begin.
func aligned(at int, f field) int {
	if f.text == comm {
		return at
	}
	return (at + f.size - 1) &^ (f.size - 1)
}

// mostText is the greatest length of a text of an event, in bytes: an event must fit into a
// page.
const mostText = 1000

// The constants are flags of an event.
const (
	flagNoIRQs  = 0x02 // it isn't known whether interrupts are off
	flagHardIRQ = 0x08
)

// bytes returns an event of the tracepoint in the format of the ring buffer. values are the
// values of its fields, each a string, an int or an uint64.
func (p *tracepoint) bytes(r *record, values []any) []byte {
	flags := byte(flagNoIRQs)
	if r.hard {
		flags |= flagHardIRQ
	}
	b := binary.LittleEndian.AppendUint16(nil, p.id)
	b = append(b, flags, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(r.pid))
	type place struct {
		at   int
		text string
	}
	var last []place
	for i, f := range p.fields {
		b = append(b, make([]byte, aligned(len(b), f)-len(b)+f.size)...)
		to := b[len(b)-f.size:]
		switch v := values[i].(type) {
		case string:
			if f.text == dynamic {
				last = append(last, place{len(b) - f.size, v})
			} else {
				copy(to, v)
			}
		case int:
			number(to, uint64(v))
		case uint64:
			number(to, v)
		}
	}
	for _, l := range last {
		text := cutText(l.text, mostText)
		binary.LittleEndian.PutUint32(b[l.at:], uint32(len(text)+1)<<16|uint32(len(b)))
		b = append(append(b, text...), 0)
	}
	return b
}

func number(to []byte, v uint64) {
	for i := range to {
		to[i] = byte(v >> (8 * i))
	}
}

// cutText cuts a text to n bytes, between characters.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
