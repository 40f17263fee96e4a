package start

import (
	"embed"
	"fmt"
	"slices"

	"kpsim/internal/ui/cli"
	"kpsim/sim"
)

// A purpose is a row: what a new scenario may be about.
type purpose struct {
	name string   // the value of --for, and the name of its template
	says string   // ends "a scenario for"
	ext  string   // the end of the file's name
	next []string // a command line for each thing to do next, NAME for the file
}

// purposes are the rows. The first is the default.
var purposes = []purpose{
	{"function", "a probe on a function of yours", ".star", []string{"explore NAME"}},
	{"patcher", "a patcher of yours: a JIT, a hook, a tracer", ".star", []string{"explore NAME"}},
	{"kernel", "a kernel of yours, or an edit of its probes", ".star",
		[]string{"explore NAME", "explore --kernel VMLINUX NAME"}},
	{"module", "a kernel module of yours", ".star", []string{"explore NAME"}},
	{"litmus", "a litmus test of memory or of code", ".litmus", []string{"litmus --explain NAME"}},
}

// Purposes returns the values of --for.
func Purposes() (names []string) {
	for i := range purposes {
		names = append(names, purposes[i].name)
	}
	return names
}

// purposeOf returns the row with that name, which must be one of Purposes.
func purposeOf(name string) *purpose {
	i := slices.IndexFunc(purposes, func(p purpose) bool { return p.name == name })
	if i < 0 {
		sim.Bug("kpsim new: no purpose %s", name)
	}
	return &purposes[i]
}

// templates are the files, NAME in place of the name that is typed.
//
//go:embed templates
var templates embed.FS

// template returns the text that is written for a purpose.
func (p *purpose) template() []byte {
	text, err := templates.ReadFile("templates/" + p.name + p.ext)
	if err != nil {
		sim.Bug("kpsim new: %v", err)
	}
	return text
}

// listed is the table of the purposes in a help, each a line.
func listed() (text string) {
	for _, p := range purposes {
		text += fmt.Sprintf("\n  %-10s%s (NAME%s)", p.name+":", p.says, p.ext)
	}
	return text
}

// lines returns what to type next for a file.
func (p *purpose) lines(file string) (list []string) {
	for _, l := range p.next {
		list = append(list, cli.Typed()+" "+withName(l, file))
	}
	return list
}
