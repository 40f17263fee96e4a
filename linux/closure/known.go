package closure

import (
	"cmp"
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"

	"kpsim/linux/vmlinux"
)

//go:embed known.txt
var knownText string

// knownOthers is known.txt of kernels for other processors than x86.
//
//go:embed known-others.txt
var knownOthers string

// A knownRow is a row of known.txt: a function of a set's closure, and the kernels in which it is
// part of it.
type knownRow struct {
	set, part, name string // part: "inside" or "boundary"
	kernels         []string
}

var known = sync.OnceValues(func() (kernels []string, rows []knownRow) {
	for _, text := range []string{knownText, knownOthers} {
		k, r := parseKnown(text)
		kernels, rows = append(kernels, k...), append(rows, r...)
	}
	return kernels, rows
})

func parseKnown(text string) (kernels []string, rows []knownRow) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "kernels":
			kernels = words[1:]
		case len(words) > 3:
			r := knownRow{words[0], words[1], words[2], words[3:]}
			switch words[3] {
			case "all":
				r.kernels = kernels
			case "but":
				r.kernels = without(kernels, words[4:])
			}
			rows = append(rows, r)
		}
	}
	return kernels, rows
}

// Known returns the releases in known.txt.
func Known() []string {
	kernels, _ := known()
	return kernels
}

// Key returns the series and flavour of a release: "6.1-rt" for "6.1.0-56-rt-amd64".
func Key(release string) string {
	key := Series(release)
	for _, flavour := range []string{"rt", "cloud"} {
		if strings.Contains(release+"-", "-"+flavour+"-") {
			key += "-" + flavour
		}
	}
	return key
}

// Family returns how the releases of kernels for a processor end: "riscv64"; "" for x86, whose distributions
// name flavours in many ways.
func Family(release string) string {
	_, end, _ := strings.Cut(release[max(strings.LastIndex(release, "-"), 0):], "-")
	for _, k := range families {
		if k == end {
			return k
		}
	}
	return ""
}

var families = [...]string{"riscv64", "arm64", "powerpc64le"}

// Nearest returns the known kernel for comparison with a release, of those for its processor: itself; otherwise
// the last one of its series and flavour, of its series, or of the previous series; otherwise the oldest.
func Nearest(release string) (best string) {
	rank := 0
	for _, k := range Known() {
		if Family(k) != Family(release) {
			continue
		}
		n := 1
		switch {
		case k == release:
			n = 5
		case Key(k) == Key(release):
			n = 4
		case Series(k) == Series(release):
			n = 3
		case Key(k) == Series(k) && compareSeries(k, release) < 0:
			n = 2
		case Key(k) == Series(k):
			n = 1
		}
		if n > rank || n == rank && n > 1 {
			best, rank = k, n
		}
	}
	return best
}

// compareSeries compares the series of two releases numerically.
func compareSeries(a, b string) int {
	x, y := strings.Split(Series(a), "."), strings.Split(Series(b), ".")
	return slices.CompareFunc(x, y, func(a, b string) int {
		m, _ := strconv.Atoi(a) // anything but a number comes first
		n, _ := strconv.Atoi(b)
		return cmp.Compare(m, n)
	})
}

// A Difference lists what one set has in only one of two kernels.
type Difference struct {
	Set, With              string
	NewInside, GoneInside  []string
	NewOutside, GoneBeside []string // of the boundary
}

// None reports whether there is no difference.
func (d *Difference) None() bool {
	return len(d.NewInside)+len(d.GoneInside)+len(d.NewOutside)+len(d.GoneBeside) == 0
}

// Compare compares the closure of one set with that of a known kernel. A part that the compiler
// split off counts as its function.
func (c *Closure) Compare(set, with string) Difference {
	d := Difference{Set: set, With: with}
	_, rows := known()
	was := map[string][]string{}
	for i := range rows {
		if r := &rows[i]; r.set == set && slices.Contains(r.kernels, with) {
			was[r.part] = append(was[r.part], r.name)
		}
	}
	d.NewInside, d.GoneInside = without(c.insideNames(), was["inside"]), without(was["inside"], c.insideNames())
	d.NewOutside, d.GoneBeside = without(c.boundaryNames(), was["boundary"]),
		without(was["boundary"], c.boundaryNames())
	return d
}

// without returns the elements of a that b lacks.
func without(a, b []string) (out []string) {
	for _, name := range a {
		if !slices.Contains(b, name) {
			out = append(out, name)
		}
	}
	return out
}

func (c *Closure) insideNames() (out []string) {
	for i := range c.Inside {
		out = append(out, Base(c.Inside[i].Name))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (c *Closure) boundaryNames() (out []string) {
	for i := range c.Boundary {
		out = append(out, Base(c.Boundary[i].Name))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Unserved returns the functions of the boundary that aren't served.
func (c *Closure) Unserved(served func(name string) bool) (out []Callee) {
	for _, callee := range c.Boundary {
		if !c.served(callee, served) {
			out = append(out, callee)
		}
	}
	return out
}

// served reports whether a function is served under any of its names.
func (c *Closure) served(callee Callee, served func(name string) bool) bool {
	if served(callee.Name) {
		return true
	}
	return slices.ContainsFunc(c.names(callee.Addr), func(s vmlinux.Symbol) bool { return served(s.Name) })
}
