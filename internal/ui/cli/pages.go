package cli

import (
	"fmt"
	"time"

	"kpsim/internal/ui/page"
	"kpsim/sim"
	"kpsim/traces"
)

// WritePage writes a page to a file and prints its name, contents and size.
func (p *Program) WritePage(n FileName, d *page.Document, holds string) error {
	b, err := d.Render()
	if err != nil {
		sim.Bug("%v", err)
	}
	if err := WriteWhole(string(n), traces.Plain(b)); err != nil {
		return fmt.Errorf("--html: %s; name a file in a folder that can be written to", Cause(err, string(n)))
	}
	fmt.Fprintf(p.Out, "%s: %s, %d kB\n", n, holds, (len(b)+999)/1000)
	return nil
}

// Must ends the run as a bug if err isn't nil. It is for plots, whose values are finite.
func Must(err error) {
	if err != nil {
		sim.Bug("%v", err)
	}
}

// Closing lines of pages; SameFigures is for those that print the date.
const (
	SameFigures = "Written by kpsim, which simulates live code patching on simulated machines. The same command " +
		"gives the same page on every computer, but for the date."
	WrittenBy = "Written by kpsim, which simulates live code patching on simulated machines. The same command gives " +
		"the same page, byte for byte, on every computer."
)

// Today returns the date of a page.
func Today() string { return time.Now().UTC().Format(time.DateOnly) }
