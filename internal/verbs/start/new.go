package start

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"kpsim/internal/ui/cli"
)

// New is kpsim new.
type New struct {
	Name string `arg:"" name:"new-file" help:"The file to write: NAME, or NAME.star; of a litmus test NAME.litmus."`
	For  string `name:"for" placeholder:"PURPOSE" default:"function" help:"What the scenario is about: ${purposes}."`
}

// Help implements kong.HelpProvider.
func (*New) Help() string {
	return `Write a commented scenario to begin with.

Writes a file that works at once, and whose comments name the lines to change for your own code. An existing file is left alone. The purposes:
` + listed() + `

Examples:

  kpsim new mine
  kpsim new mine --for patcher
  kpsim new sb --for litmus

The last lines that it prints are what to type next. Every word of the language is in docs/scenarios.md.

Exit status: 0, or 2 for bad input.`
}

// Run writes the file. It makes no folder.
func (c *New) Run(p *cli.Program) (int, error) {
	if err := cli.Known("purpose", c.For, Purposes()); err != nil {
		return 0, fmt.Errorf("--for: %w", err)
	}
	of := purposeOf(c.For)
	file, err := of.file(c.Name)
	if err != nil {
		return 0, err
	}
	text := withName(string(of.template()), file)
	if err := create(file, text); err != nil {
		return 0, err
	}
	p.Indented("", fmt.Sprintf("%s: %s; the lines to change say so", file, of.says))
	for _, line := range of.lines(file) {
		p.Next("", "next:", line)
	}
	return cli.OK, nil
}

// file returns the name of the file for what was typed.
func (p *purpose) file(typed string) (string, error) {
	base := filepath.Base(typed)
	ext := filepath.Ext(base)
	switch {
	case typed == "" || strings.HasSuffix(typed, "/") || base == "." || base == ".." ||
		strings.ContainsFunc(base, func(c rune) bool { return !unicode.IsPrint(c) }): // no scenario is called so
		return "", fmt.Errorf("%q is no name for a file; write one, as in %s", typed,
			cli.Line(cli.Typed(), "new", "mine"))
	case ext == p.ext:
		return typed, nil
	case slices.ContainsFunc(purposes, func(o purpose) bool { return o.ext == ext }):
		return "", fmt.Errorf("%s: a scenario for %q is a file NAME%s; write %s, or another --for", typed, p.name,
			p.ext, strings.TrimSuffix(typed, ext)+p.ext)
	}
	return typed + p.ext, nil
}

// create writes a file that doesn't exist. A file that can't be written whole is removed.
func create(file, text string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s: is there already, and is left as it is; give another name", file)
	case err != nil:
		return fmt.Errorf("%s; name a file in a folder that can be written to", cli.Cause(err, file))
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(file)
		return fmt.Errorf("%s; %s", cli.Cause(err, file), cli.MakeRoom)
	}
	return nil
}

// withName puts a file's name into a template or a command line, as it is typed.
func withName(text, file string) string {
	typed := strings.TrimPrefix(cli.Line("", cli.AsFile(file)), " ")
	return strings.ReplaceAll(text, "NAME", typed)
}
