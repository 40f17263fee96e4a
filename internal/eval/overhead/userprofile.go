package overhead

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"kpsim/internal/nearest"
	"kpsim/smp/cycles"
)

// A UserProfile is a machine that the user has described in a file.
//
// The file has lines of a word and its value, and comments, from # to the end of the line. It isn't JSON or TOML
// because each cost has a comment with its source, which JSON has no place for, and because errors must name a line:
// the usual ones in such files are a cost that is missing, is there twice or names no event.
type UserProfile struct {
	Name string
	Arch string
	// Edition is that of the probes that it has: "2.6" or "4.15".
	Edition string
	MHz     float64
	Costs   cycles.Profile
	Notes   [cycles.Events]string // the comment after each cost, "" for none

	// LeftOut is the largest relative error of Figures figures, each by a fit without it; 0: the profile doesn't
	// say. It bounds no other error with a probability that could be named (TestLargestLeftOutCovers).
	LeftOut float64
	Figures int
}

// ID is the machine's name in tables.
func (u *UserProfile) ID() string { return (&Machine{Name: u.Name, Arch: u.Arch}).ID() }

// Probes are those of its edition.
func (u *UserProfile) Probes() []Probe { return ProbesOn(u.Arch, u.Edition == figureEditions[1]) }

// figureEditions are those of the figures: before and with detours.
var figureEditions = [2]string{"2.6", "4.15"}

// A number beyond these bounds probably has another unit; fitting takes the third power of the number of figures.
const (
	leastMHz    = 10
	mostMHz     = 100_000
	mostCycles  = 1_000_000_000
	mostUsec    = 100
	mostFigures = 100
)

// ReadProfile reads a profile.
func ReadProfile(name, text string) (*UserProfile, error) {
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("%s: the file is empty; %s", name, makesProfile(name))
	}
	u := &UserProfile{MHz: clockOf(text)} // which mistakes in lines before its own name
	seen := make(map[string]int)          // the line of each word
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, note, _ := strings.Cut(line, "#")
		word, value, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(line, "\t", " ")), " ")
		switch word {
		case "":
			continue
		case "era": // its name in files of November 2026
			word = "edition"
		}
		if before, ok := seen[word]; ok {
			return nil, fmt.Errorf("%s: line %d: %s is there twice, first in line %d; leave one of them out",
				name, n, word, before)
		}
		seen[word] = n
		if err := u.set(word, strings.TrimSpace(value)); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, n, err)
		}
		if e := slices.Index(eventNames(), word); e >= 0 {
			u.Notes[cycles.All()[e]] = strings.TrimSpace(note)
		}
	}
	if len(seen) == 0 {
		return nil, fmt.Errorf("%s: there is nothing but comments in it; %s", name, makesProfile(name))
	}
	for _, word := range []string{"name", "arch", "edition", "mhz"} {
		if seen[word] == 0 {
			return nil, fmt.Errorf("%s: line %d: %s is missing; add a line as %s", name, n+1, word, examples[word])
		}
	}
	for _, e := range cycles.All() {
		if word := e.String(); seen[word] == 0 {
			return nil, fmt.Errorf("%s: line %d: the cost of %s is missing; add a line with its cycles, as %s 12.5",
				name, n+1, word, word)
		}
	}
	return u, nil
}

// makesProfile says what makes a profile.
func makesProfile(name string) string {
	return fmt.Sprintf("kpsim overhead calibrate FIGURES.csv > %s makes a profile of measured figures, kpsim overhead "+
		"nominal > %s one to change by hand", name, name)
}

var examples = map[string]string{"name": "name My machine", "arch": "arch x86_64", "edition": "edition 4.15",
	"mhz": "mhz 2330"}

// set takes a line.
func (u *UserProfile) set(word, value string) error {
	switch word {
	case "name", "arch":
		if !printable(value) || word == "arch" && strings.Contains(value, " ") {
			return fmt.Errorf("%s: %q is no name; write it as %s", word, value, examples[word])
		}
		if word == "name" {
			u.Name = value
		} else {
			u.Arch = value
		}
		return nil
	case "edition":
		if value != figureEditions[0] && value != figureEditions[1] {
			return fmt.Errorf("edition: there is none called %q; give 2.6 (kprobes, jprobes and return probes) or "+
				"4.15 (boosted and optimized ones too)", value)
		}
		u.Edition = value
		return nil
	case "mhz":
		mhz, err := readMHz(value)
		if err != nil {
			return fmt.Errorf("mhz: %w", err)
		}
		u.MHz = mhz
		return nil
	case "left-out":
		return u.setLeftOut(value)
	}
	for _, e := range cycles.All() {
		if e.String() != word {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil && asCycles(value, u.MHz) != "":
			return fmt.Errorf("%s: %q is no number of cycles; at %g MHz it is %s cycles: write %s %s", word, value,
				u.MHz, asCycles(value, u.MHz), word, asCycles(value, u.MHz))
		case err != nil || math.IsNaN(v):
			return fmt.Errorf("%s: %q is no number of cycles; write one, as %s 12.5", word, value, word)
		case v < 0:
			return fmt.Errorf("%s: %s cycles are below 0; give 0 or more", word, value)
		case v > mostCycles:
			return fmt.Errorf("%s: %s cycles are more than %d; give cycles of the CPU", word, value, mostCycles)
		}
		u.Costs[e] = cycles.Cost(math.Round(v * cycles.Unit))
		return nil
	}
	names := append(eventNames(), "name", "arch", "edition", "mhz", "left-out")
	return fmt.Errorf("no line begins with %q; %s", word,
		cmp.Or(nearest.DidYouMean(word, names),
			"give name, arch, edition, mhz, or the cost of an event: "+strings.Join(eventNames(), ", ")))
}

// setLeftOut reads the largest error of figures left out, as "32.4 % of 4".
func (u *UserProfile) setLeftOut(value string) error {
	var percent float64
	var n int
	_, err := fmt.Sscanf(value, "%g %% of %d", &percent, &n)
	if err != nil || !(percent >= 0 && percent < 1000) || n < 2 || n > mostFigures {
		return fmt.Errorf("left-out: %q isn't the largest error of figures left out; write it as left-out 32.4 %% of "+
			"4, with 2 to %d figures, or leave it out", value, mostFigures)
	}
	u.LeftOut, u.Figures = percent/100, n
	return nil
}

// clockOf returns the clock rate in a profile's text, in MHz, 0 if it has none that is right.
func clockOf(text string) float64 {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) == 2 && words[0] == "mhz" {
			mhz, _ := readMHz(words[1])
			return mhz
		}
	}
	return 0
}

func readMHz(value string) (float64, error) {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || !(v >= leastMHz && v <= mostMHz) {
		return 0, fmt.Errorf("%q is no clock rate; give a number of MHz, %d to %d", value, leastMHz, mostMHz)
	}
	return v, nil
}

func eventNames() (names []string) {
	for _, e := range cycles.All() {
		names = append(names, e.String())
	}
	return names
}

// printable reports whether a profile can have a name.
func printable(name string) bool {
	return name != "" && name == strings.TrimSpace(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return r == '#' || r == unicode.ReplacementChar || !unicode.IsPrint(r)
	})
}

// Text returns a file that ReadProfile reads, with a note after each cost.
func (u *UserProfile) Text(note func(cycles.Event) string) string {
	var b strings.Builder
	for _, l := range [][2]string{{"name", u.Name}, {"arch", u.Arch}, {"edition", u.Edition},
		{"mhz", strconv.FormatFloat(u.MHz, 'g', -1, 64)}} {
		fmt.Fprintf(&b, "%-11s %s\n", l[0], l[1])
	}
	if u.Figures > 0 {
		fmt.Fprintf(&b, "%-11s %.1f %% of %d  # the largest error of a figure by a fit without it, and the figures\n",
			"left-out", 100*u.LeftOut, u.Figures)
	}
	b.WriteByte('\n')
	for _, e := range cycles.All() {
		// Three decimals resolve 1/256 of a cycle.
		fmt.Fprintf(&b, "%-11s %8.3f  # %s\n", e, float64(u.Costs[e])/cycles.Unit, note(e))
	}
	return b.String()
}

// NominalProfile is a profile whose prices are all assumed, to be changed by hand.
func NominalProfile(name, arch string, mhz float64) *UserProfile {
	return &UserProfile{Name: name, Arch: arch, Edition: figureEditions[1], MHz: mhz, Costs: *cycles.Nominal()}
}

// UserProfile returns a machine's profile as one that can be written.
func (o *Model) UserProfile(m *Machine, t Tier) (*UserProfile, error) {
	p, err := o.Profile(m, t)
	if err != nil {
		return nil, err
	}
	return &UserProfile{Name: m.Name, Arch: m.Arch, Edition: m.Edition(), MHz: m.MHz, Costs: *p}, nil
}

// Like returns the machine of the documents whose kernel code and typical costs this one has.
func (m *Machine) Like() *Machine {
	for i := range Machines {
		if Machines[i].code == m.code {
			return &Machines[i]
		}
	}
	return m
}

// owner returns the machine of a row of figures: one of the documents', or a new one for the user's own. arch and
// edition then select its kernel code and typical costs: those of the documents' machine with the same two. known
// are the figures of the rows before.
func owner(known []Figure, name, arch, mhz, edition string) (*Machine, error) {
	clock, err := readMHz(mhz)
	if err != nil {
		return nil, err
	}
	if edition != figureEditions[0] && edition != figureEditions[1] {
		return nil, fmt.Errorf("edition: figures are of edition 2.6 (before detours) or 4.15 (with them, as all later "+
			"ones), not of %q; give one of the two", edition)
	}
	if !printable(name) {
		return nil, fmt.Errorf("%q is no name of a machine", name)
	}
	like := func(m *Machine) bool { return m.Arch == arch && m.Detours() == (edition == figureEditions[1]) }
	for _, f := range known {
		if m := f.Machine; m.Name == name && m.Arch == arch {
			if m.MHz != clock || !like(m) {
				return nil, fmt.Errorf("%s on %s has another clock rate or edition in a line before; give machines "+
					"that differ names that differ", name, arch)
			}
			return m, nil
		}
	}
	var have []string
	for i := range Machines {
		m := &Machines[i]
		if like(m) && m.Name == name && m.MHz == clock {
			return m, nil
		}
		if m.Detours() == (edition == figureEditions[1]) {
			have = append(have, m.Arch)
		}
	}
	for i := range Machines {
		if like(&Machines[i]) {
			m := Machines[i]
			m.Name, m.MHz, m.core = name, clock, name
			return &m, nil
		}
	}
	return nil, fmt.Errorf("of edition %s no code is known for %q; there is %s", edition, arch,
		strings.Join(have, ", "))
}

// times are the units of time that someone may give a cost in, and how many µs each is.
var times = []struct {
	unit string
	usec float64
}{{"ns", 1e-3}, {"us", 1}, {"µs", 1}, {"μs", 1}, {"ms", 1e3}, {"s", 1e6}}

// asCycles says how many cycles a time is at a clock rate, "" if value is none that a profile can have. mhz is 0 if the
// rate isn't known.
func asCycles(value string, mhz float64) string {
	for _, t := range times {
		number, ok := strings.CutSuffix(value, t.unit)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil {
			continue // 12us doesn't end in s alone
		}
		if v *= t.usec * mhz; v > 0 && v <= mostCycles {
			return short(v)
		}
	}
	return ""
}
