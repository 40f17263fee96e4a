package verdict

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"kpsim/traces"
)

// A Format is a row: a format and what writes it.
type Format struct {
	Name  string
	Says  string
	write func(b *bytes.Buffer, l *List)
}

// Formats are all formats.
var Formats = []Format{
	{"ktap", "KTAP version 1, which the kernel's test tools read", ktap},
	{"junit", "JUnit XML, which most CI systems read", junitXML},
	{"sarif", "SARIF 2.1.0, which shows finds at lines of the source", sarif},
}

// Names returns the names of the formats.
func Names() (names []string) {
	for _, f := range Formats {
		names = append(names, f.Name)
	}
	return names
}

// Write writes a list in the format of that name, which must be one of Names.
func (l *List) Write(w io.Writer, format string) error {
	var b bytes.Buffer
	for _, f := range Formats {
		if f.Name == format {
			f.write(&b, l)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// plain returns a copy in which every text can be shown. Names are of one line.
func (c *Case) plain() *Case {
	d := *c
	d.Group, d.Name = name(c.Group), name(c.Name)
	d.Says, d.Trace, d.Next = traces.PlainString(c.Says), oneLine(c.Trace), oneLine(c.Next)
	d.Notes = make([]string, len(c.Notes))
	for i, n := range c.Notes {
		d.Notes[i] = traces.PlainString(n)
	}
	d.Places = append([]Place(nil), c.Places...)
	for i := range d.Places {
		d.Places[i].Says = traces.PlainString(d.Places[i].Says)
	}
	return &d
}

// name returns a name as a line. Blanks at its ends are escapes: readers drop them.
func name(s string) string {
	s = oneLine(s)
	if s == "" {
		return "(no name)"
	}
	core := strings.Trim(s, " ")
	before := len(s) - len(strings.TrimLeft(s, " "))
	if core == "" {
		before = len(s)
	}
	after := len(s) - before - len(core)
	return strings.Repeat(`\x20`, before) + core + strings.Repeat(`\x20`, after)
}

// oneLine returns a text as one line.
func oneLine(s string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(traces.PlainString(s))
}

// lines splits a text into its lines, without empty ones.
func lines(s string) (list []string) {
	for _, l := range strings.Split(s, "\n") {
		if l = strings.TrimRight(strings.ReplaceAll(l, "\t", "    "), " "); l != "" {
			list = append(list, l)
		}
	}
	return list
}

// about returns the lines about a case: what it says, its notes, where it is, the trace and the next command.
func (c *Case) about() (list []string) {
	list = lines(c.Says)
	for _, n := range c.Notes {
		list = append(list, lines(n)...)
	}
	for _, p := range c.Places {
		at := oneLine(p.String())
		if p.Says != "" {
			at += ": " + oneLine(p.Says)
		}
		list = append(list, "at "+at)
	}
	if c.Trace != "" {
		list = append(list, "trace: "+c.Trace)
	}
	if c.Next != "" {
		list = append(list, "next: "+c.Next)
	}
	return list
}

// String is the place as a compiler prints it.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + itoa(p.Line)
}

func itoa(n int) string { return strconv.Itoa(n) }
