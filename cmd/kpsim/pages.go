package main

import (
	"fmt"
	"os"
	"path/filepath"

	"kpsim/cmd/kpsim/page"
	"kpsim/sim"
	"kpsim/traces"
)

// checkPage says beforehand what would keep a page from being written, or that it would
// be written over a file that it is made of.
func (n fileName) checkPage(of ...string) error {
	if err := n.check(); err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	there, err := os.Stat(string(n))
	if err != nil {
		return nil
	}
	for _, path := range of {
		if s, err := os.Stat(path); err == nil && os.SameFile(s, there) {
			return fmt.Errorf("--html: %s: is what the page is made of; name another file", n)
		}
	}
	return nil
}

// writePage writes a page, and tells of it.
func (p *program) writePage(n fileName, d *page.Document, holds string) error {
	b, err := d.Render()
	if err != nil {
		sim.Bug("%v", err)
	}
	if err := writeWhole(string(n), traces.Plain(b)); err != nil {
		return fmt.Errorf("--html: %s; name a file in a folder that can be written to", cause(err, string(n)))
	}
	fmt.Fprintf(p.out, "%s: %s, %d kB\n", n, holds, (len(b)+999)/1000)
	return nil
}

// base is a file's name without its folder: whoever gets a page may not have that.
func (n fileName) base() string { return filepath.Base(string(n)) }

// must is for what can't fail: what is drawn is all finite, and has its names.
func must(err error) {
	if err != nil {
		sim.Bug("%v", err)
	}
}

// What pages end in: sameFigures those that have a date.
const (
	sameFigures = "Written by kpsim, which simulates live code patching on x86 machines. The same command gives the same page on every computer, but for the date."
	writtenBy   = "Written by kpsim, which simulates live code patching on x86 machines. The same command gives the same page, byte for byte, on every computer."
)
