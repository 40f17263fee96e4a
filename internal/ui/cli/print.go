package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/ui/verdict"
	"kpsim/internal/version"
	"kpsim/sim"
	"kpsim/traces/view"
)

// ToType is Next, indented below a row.
func (p *Program) ToType(what, line string) { p.Next(Indent, what, line) }

// Next prints a command line to type, on a line of its own if the terminal is narrow.
func (p *Program) Next(by, what, line string) {
	sep := "  "
	if p.Width > 0 && len(by)+view.Visible(what)+len(sep)+view.Visible(line) > p.Width {
		sep = "\n" + by + "  "
	}
	fmt.Fprintf(p.Out, "%s%s%s%s\n", by, what, sep, line)
}

// Indented prints s indented, folded to the terminal's width.
func (p *Program) Indented(by, s string) {
	for _, l := range view.Fold(s, p.Width-len(by)) {
		fmt.Fprintln(p.Out, by+l)
	}
}

// Indent precedes lines below a row.
const Indent = "    "

// MakeRoom is the remedy for a file that could not be written.
const MakeRoom = "nothing of it is left there; make room or name another place"

// Unsaved reports a file that was not written, and the remedy.
func (p *Program) Unsaved(why, remedy string) {
	p.Judged.Add(verdict.Case{Group: "files", Name: why, Outcome: verdict.Errored, Says: why + "; " + remedy})
	fmt.Fprintf(p.Err, "kpsim: %s; %s\n", why, remedy)
}

// List joins names for a sentence.
func List(names []string) string { return strings.Join(names, ", ") }

// Paint colours s if Out is a terminal.
func (p *Program) Paint(c, s string) string {
	if !p.Colour {
		return s
	}
	return Painted(c, s)
}

// The colours.
const (
	Green       = "\x1b[32m"
	Red         = "\x1b[1;31m"
	endOfColour = "\x1b[0m"
)

// PrintJSON prints v, an object, as one line. The first object of a command ends with the field
// that identifies this kpsim: {"kpsim":{"version":…,"commit":…,"modified":…,"source":…}}.
func (p *Program) PrintJSON(v any) error {
	line, err := encoded(v)
	if err != nil {
		return err
	}
	if body, ok := bytes.CutSuffix(line, []byte("}\n")); ok {
		named := p.NamedJSON()
		if bytes.Equal(body, []byte("{")) {
			named = bytes.TrimPrefix(named, []byte(","))
		}
		line = slices.Concat(body, named, []byte("}\n"))
	}
	_, err = p.Out.Write(line)
	return err
}

// NamedJSON returns that field for the first object that a command prints, and nothing for the
// others. It is for objects that aren't printed by PrintJSON.
func (p *Program) NamedJSON() []byte {
	if p.named {
		return nil
	}
	p.named = true
	kpsim, err := encoded(map[string]version.Info{"kpsim": version.This()})
	if err != nil {
		sim.Bug("the version: %v", err)
	}
	kpsim[0] = ','
	return bytes.TrimSuffix(kpsim, []byte("}\n"))
}

// encoded returns v as JSON, with a newline.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// Number formats a count: "1 run", "2 runs".
func Number[T int | uint64](n T, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Counted is Number for a column: singular and plural have the same width.
func Counted[T int | uint64](n T, places int, what string) string {
	s := fmt.Sprintf("%*d %s", places, n, what)
	if n == 1 {
		return s + " "
	}
	return s + "s"
}

// Share returns a share in percent, rounded down to a tenth.
func Share(n, of uint64) string {
	share := 1000 * n / max(of, 1)
	return fmt.Sprintf("%d.%d %%", share/10, share%10)
}

// Tenths prints a share in percent. It prints 100 only for all, and 0 only for nothing.
func Tenths(x float64) string {
	switch s := fmt.Sprintf("%.1f", 100*x); {
	case s == "100.0" && x == 1, s == "0.0" && x == 0:
		return strings.TrimSuffix(s, ".0")
	case s == "100.0":
		return "over 99.9"
	case s == "0.0":
		return "under 0.1"
	default:
		return s
	}
}
