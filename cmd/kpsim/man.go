package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"kpsim/internal/nearest"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/manual"
	"kpsim/internal/version"
)

// manCmd is kpsim man.
type manCmd struct {
	Words []string     `arg:"" optional:"" name:"command" help:"Words of a command, such as overhead fit. None: the page of kpsim."`
	Dir   cli.FileName `placeholder:"DIR" help:"Write the pages of all commands to a folder, which is made if there is none."`
	Date  string       `placeholder:"YYYY-MM-DD" help:"The date at the foot. Default: that of the commit, if it is known."`
}

// Help implements kong.HelpProvider.
func (manCmd) Help() string {
	return `Print a man page, of kpsim or of one of its commands.

Prints a man page, in the language of roff, which man -l shows. The pages are made of what --help says.

Examples:

  kpsim man | man -l -
  kpsim man overhead fit | man -l -
  kpsim man --dir ~/.local/share/man/man1

man looks there by itself if ~/.local/bin is in PATH; then man kpsim-explore finds a page.

Exit status: 0, or 2 for bad input.`
}

func (c *manCmd) Run(p *cli.Program) (int, error) {
	foot := manual.Foot{Date: c.Date, From: "kpsim " + cmp.Or(version.This().Version, version.This().Commit,
		"unreleased")}
	if _, err := time.Parse(time.DateOnly, c.Date); err != nil && c.Date != "" {
		return 0, fmt.Errorf("--date: %q is no date; write it as 2026-11-25", c.Date)
	}
	if t := version.This().Time; foot.Date == "" && len(t) > len(time.DateOnly) {
		foot.Date = t[:len(time.DateOnly)]
	}
	at := newParser(verbs, p.Out, p.Err).Model.Node
	if c.Dir != "" {
		if len(c.Words) > 0 {
			return 0, fmt.Errorf("--dir writes the pages of all commands; leave %q out", c.Words[0])
		}
		return cli.OK, writePages(p, string(c.Dir), manual.Pages(at, foot))
	}
	for _, w := range c.Words {
		var names []string
		above := at
		for _, n := range above.Children {
			if n.Name == w && !n.Hidden {
				at = n
			}
			if !n.Hidden {
				names = append(names, n.Name)
			}
		}
		if at == above {
			if len(names) == 0 {
				return 0, fmt.Errorf("%s has no commands below it; leave %q out", above.FullPath(), w)
			}
			line := cli.Typed() + strings.TrimPrefix(above.FullPath(), "kpsim")
			return 0, fmt.Errorf("no command of %s is called %q; %s", above.FullPath(), w,
				cmp.Or(nearest.DidYouMean(w, names), line+" --help lists them"))
		}
	}
	_, err := p.Out.Write(manual.Page(at, foot))
	return cli.OK, err
}

// writePages writes all pages to a folder, and says how many.
func writePages(p *cli.Program, dir string, files []manual.File) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--dir: %s; name a folder that can be written to", cli.Cause(err, dir))
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if err := cli.WriteWhole(path, f.Text); err != nil {
			return fmt.Errorf("--dir: %s; name a folder that can be written to", cli.Cause(err, path))
		}
	}
	fmt.Fprintf(p.Out, "%s: %d pages\n", dir, len(files))
	return nil
}

// commandWords are the words that a command on the command line may consist of.
func commandWords() (words []string) {
	var walk func(n *kong.Node)
	walk = func(n *kong.Node) {
		for _, c := range n.Children {
			if !c.Hidden {
				words = append(words, c.Name)
				walk(c)
			}
		}
	}
	walk(newParser(verbs, io.Discard, io.Discard).Model.Node)
	slices.Sort(words)
	return slices.Compact(words)
}
