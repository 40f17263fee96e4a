package manual

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"kpsim/internal/ui/cli/flags"
)

// A Foot is the footer of each page.
type Foot struct {
	Date string // 2026-11-25; "": none
	From string // the program: kpsim 1.2.3
}

// A File is a page with its file name: kpsim-overhead-fit.1.
type File struct {
	Name string
	Text []byte
}

// Pages returns a page for the program, which comes first, and for each command that isn't
// hidden.
func Pages(program *kong.Node, foot Foot) []File {
	var files []File
	var walk func(n *kong.Node)
	walk = func(n *kong.Node) {
		files = append(files, File{nameOf(n) + ".1", Page(n, foot)})
		for _, c := range shown(n) {
			walk(c)
		}
	}
	walk(program)
	return files
}

// nameOf returns the name of a command's page.
func nameOf(n *kong.Node) string { return strings.ReplaceAll(n.FullPath(), " ", "-") }

// shown returns the subcommands that --help lists.
func shown(n *kong.Node) (list []*kong.Node) {
	for _, c := range n.Children {
		if !c.Hidden {
			list = append(list, c)
		}
	}
	return list
}

// Page returns the page of a command or, at the top, of the program.
func Page(n *kong.Node, foot Foot) []byte {
	p := new(page)
	p.macro("TH", strings.ToUpper(nameOf(n)), "1", foot.Date, foot.From, "User Commands")
	p.macro("nh") // a hyphenation hyphen could be read as part of a name
	p.section("NAME")
	p.line(escaped(nameOf(n)) + ` \- ` + escaped(summary(n)))
	p.synopsis(n)
	p.section("DESCRIPTION")
	if n.Parent != nil { // the program's Help is the whole text
		p.paragraphs(n.Help)
	}
	text := n.Detail
	if n.Parent == nil {
		text = n.Help
	}
	examples, status, text := divided(text)
	p.paragraphs(text)
	p.commands(n)
	p.arguments(n)
	p.options(n)
	if examples != "" {
		p.section("EXAMPLES")
		p.paragraphs(examples)
	}
	if status != "" {
		p.section("EXIT STATUS")
		p.paragraphs(status)
	}
	p.seeAlso(n)
	return p.Bytes()
}

// summary returns the text of NAME: the help's first sentence, without its capital and period.
func summary(n *kong.Node) string {
	first, _, _ := strings.Cut(n.Help, "\n")
	first, _, _ = strings.Cut(first, ". ")
	first = strings.TrimPrefix(strings.TrimSuffix(first, "."), "Kpsim ")
	return strings.ToLower(first[:min(1, len(first))]) + first[min(1, len(first)):]
}

// divided separates the examples and the exit statuses from the rest of a command's help, without
// their headings.
func divided(help string) (examples, status, rest string) {
	at := &rest
	for _, part := range strings.Split(help, "\n\n") {
		switch {
		case part == "Examples:":
			at = &examples
			continue
		case strings.HasPrefix(part, "Exit status, of every command:"):
			at = &status
			continue
		case strings.HasPrefix(part, "Exit status: "):
			at = &status
			part = strings.TrimPrefix(part, "Exit status: ")
		}
		*at += part + "\n\n"
	}
	return examples, status, rest
}

func (p *page) synopsis(n *kong.Node) {
	p.section("SYNOPSIS")
	p.line(bold(n.FullPath()) + escaped(strings.TrimPrefix(strings.TrimPrefix(n.Summary(), n.Path()), n.Name)))
	if d := n.DefaultCmd; d != nil {
		p.macro("br")
		p.line(bold(n.FullPath()) + escaped(strings.TrimPrefix(d.Summary(), d.Path())))
	}
}

func (p *page) commands(n *kong.Node) {
	if len(shown(n)) == 0 {
		return
	}
	p.section("COMMANDS")
	for _, c := range shown(n) {
		p.tag(bold(c.Name))
		p.line(escaped(c.Help))
	}
}

func (p *page) arguments(n *kong.Node) {
	if len(n.Positional) == 0 {
		return
	}
	p.section("ARGUMENTS")
	for _, v := range n.Positional {
		p.tag(escaped(v.Summary()))
		p.line(escaped(flags.HelpWithRange(v)))
	}
}

func (p *page) options(n *kong.Node) {
	p.section("OPTIONS")
	groups := n.AllFlags(true)
	if n.DefaultCmd != nil {
		groups = append(groups, n.DefaultCmd.Flags)
	}
	for _, group := range groups {
		for _, f := range group {
			if f.Hidden {
				continue
			}
			name, value, valued := strings.Cut(f.String(), "=")
			tag := bold(name)
			if valued {
				tag += "=" + italic(value)
			}
			p.tag(tag)
			p.line(escaped(flags.HelpWithRange(f.Value)))
		}
	}
}

// seeAlso names the pages of the parent command, of the subcommands and, for a subcommand, of its
// siblings.
func (p *page) seeAlso(n *kong.Node) {
	var names []string
	if n.Parent != nil {
		names = append(names, nameOf(n.Parent))
	}
	beside := shown(n)
	if n.Parent != nil && n.Parent.Parent != nil {
		beside = append(shown(n.Parent), beside...)
	}
	for _, c := range beside {
		if c != n {
			names = append(names, nameOf(c))
		}
	}
	p.section("SEE ALSO")
	for i, name := range names {
		line := bold(name) + "(1)"
		if i < len(names)-1 {
			line += ","
		}
		p.line(line)
	}
}

// A page is the text of a man page.
type page struct {
	bytes.Buffer
	begun bool // a section has begun and has no text yet
}

// macro writes a macro call with quoted arguments. A date's hyphens must not be escaped, or it
// isn't recognised as a date.
func (p *page) macro(name string, args ...string) {
	fmt.Fprintf(p, ".%s", name)
	for _, a := range args {
		fmt.Fprintf(p, ` "%s"`, strings.ReplaceAll(escaped(a), `\-`, "-"))
	}
	p.WriteString("\n")
}

func (p *page) section(name string) {
	fmt.Fprintf(p, ".SH %s\n", name)
	p.begun = true
}

// paragraph begins a paragraph. The first one of a section needs no macro.
func (p *page) paragraph() {
	if !p.begun {
		p.macro("PP")
	}
	p.begun = false
}

// line writes a line of escaped text. A leading dot or apostrophe would make it a request;
// apostrophes are always escaped.
func (p *page) line(text string) {
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	fmt.Fprintln(p, text)
	p.begun = false
}

// tag begins a list item.
func (p *page) tag(text string) {
	p.macro("TP")
	p.line(text)
}

// paragraphs writes text in the layout of help: paragraphs separated by empty lines, of which
// indented ones are kept verbatim.
func (p *page) paragraphs(text string) {
	for _, part := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if part == "" {
			continue
		}
		lines := strings.Split(part, "\n")
		switch items, ok := columns(lines); {
		case !strings.HasPrefix(part, " "):
			p.paragraph()
			for _, l := range lines {
				p.line(escaped(l))
			}
		case ok:
			for _, i := range items {
				p.tag(bold(i.name))
				p.line(escaped(i.says))
			}
		default:
			p.paragraph()
			p.macro("RS", "4")
			p.macro("nf")
			for _, l := range lines {
				p.line(escaped(strings.TrimPrefix(l, "  ")))
			}
			p.macro("fi")
			p.macro("RE")
		}
	}
}

type item struct{ name, says string }

// columns parses indented lines with two columns, separated by two blanks or more. A line with
// deeper indentation continues the item above.
func columns(lines []string) (items []item, ok bool) {
	for _, l := range lines {
		text := strings.TrimPrefix(l, "  ")
		name, says, two := strings.Cut(text, "  ")
		switch {
		case strings.HasPrefix(text, " ") && len(items) > 0:
			items[len(items)-1].says += " " + strings.TrimSpace(text)
		case two && name != "":
			items = append(items, item{name, strings.TrimSpace(says)})
		default:
			return nil, false
		}
	}
	return items, true
}

func bold(s string) string   { return `\fB` + escaped(s) + `\fR` }
func italic(s string) string { return `\fI` + escaped(s) + `\fR` }

// special escapes the characters that formatters interpret, or print as another character that
// can't be pasted into a shell.
var special = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`)

// escaped returns text in ASCII as formatters print it.
func escaped(s string) string {
	var b strings.Builder
	for _, c := range special.Replace(s) {
		if c < 0x80 {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, c)
		}
	}
	return b.String()
}
