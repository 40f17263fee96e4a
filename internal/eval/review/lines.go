package review

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"kpsim/internal/patches"
	"kpsim/internal/search/change"
	"kpsim/smp/arch"
)

const (
	linesMost = 400 // maximum number of a patch's lines that are looked for
)

// A line is a line added by a patch, or one with new machine code.
type line struct {
	file   string
	number int
	place  int // index in found.places; -1: no instruction that runs belongs to it
}

// readPatch reads the added lines, and finds their instructions.
func (r *found) readPatch() error {
	c := r.c
	if c.Patch == "" {
		for i, p := range r.code.Places {
			if file, number, ok := cutLine(p.Line); ok && !p.Entry {
				r.lines = append(r.lines, line{file, number, i})
			}
		}
		r.sortLines()
		return nil
	}
	if err := r.addedLines(); err != nil {
		return err
	}
	if err := r.compiledFrom(); err != nil {
		return err
	}
	r.findLines()
	r.sortLines()
	return nil
}

// compiledFrom returns an error if there are objects and none of the patch's files is one that
// they were compiled from.
func (r *found) compiledFrom() error {
	if len(r.c.Objects) == 0 {
		return nil
	}
	var known []string
	for i := range r.after.Closure.Inside {
		f := &r.after.Closure.Inside[i]
		s, ok := r.after.Image.Symbol(f.Name)
		if !ok || !s.Laid() {
			continue
		}
		for _, in := range r.src.Frames(arch.Addr(f.Addr)) {
			if in.File != "" && !slices.Contains(known, in.File) {
				known = append(known, in.File)
			}
		}
	}
	if len(known) == 0 { // no debug information
		return nil
	}
	var files []string
	for _, name := range r.patched {
		if strings.HasSuffix(name, ".h") ||
			slices.ContainsFunc(known, func(k string) bool { return sameFile(name, k) }) {
			return nil
		}
		files = append(files, name)
	}
	return fmt.Errorf("--patch: %s changes %s, and the objects were compiled from %s; give the objects of "+
		"what it changes", r.c.Patch, strings.Join(files, ", "), strings.Join(known, ", "))
}

// addedLines reads the lines that the patches add.
func (r *found) addedLines() error {
	c := r.c
	if e := c.edit; e != nil { // as they are in the files that were compiled
		r.removed = e.Removed
		for _, f := range e.Changed() {
			r.patched = append(r.patched, f.Name)
			for i, l := range f.Lines {
				if l.Patch > 0 {
					r.lines = append(r.lines, line{f.Name, i + 1, -1})
				}
			}
		}
		return r.limitLines()
	}
	list, err := c.readPatches()
	if err != nil {
		return err
	}
	for _, p := range list {
		for _, f := range p.Files {
			r.patched = append(r.patched, patches.Name(f))
			for _, t := range f.TextFragments {
				at := int(t.NewPosition)
				for _, l := range t.Lines {
					switch l.Op {
					case gitdiff.OpAdd:
						r.lines = append(r.lines, line{patches.Name(f), at, -1})
						at++
					case gitdiff.OpContext:
						at++
					case gitdiff.OpDelete:
						r.removed++
					}
				}
			}
		}
	}
	return r.limitLines()
}

func (r *found) limitLines() error {
	if len(r.lines)+r.removed == 0 {
		return fmt.Errorf("--patch: %s changes no line; give a unified diff, as diff -u and git format-patch write it",
			r.c.Patch)
	}
	if n := len(r.lines) - linesMost; n > 0 {
		r.lines, r.linesLeft = r.lines[:linesMost], n
	}
	return nil
}

// findLines finds the instructions of the patch's lines, including inlined copies in any
// function. Those places replace those of new machine code.
func (r *found) findLines() {
	r.code.Places = slices.DeleteFunc(r.code.Places, func(p change.Place) bool { return !p.Entry })
	at := make(map[[2]string]int) // lines by the file's base name and the number
	key := func(file string, number int) [2]string { return [2]string{path.Base(file), strconv.Itoa(number)} }
	for i, l := range r.lines {
		at[key(l.file, l.number)] = i
	}
	for i := range r.after.Closure.Inside {
		r.after.Closure.Decode(&r.after.Closure.Inside[i], func(in arch.Inst) {
			frames := r.src.Frames(in.At())
			for _, f := range r.src.Beginning(in.At()) {
				f.Func = frames[0].Func
				frames = append(slices.Clip(frames), f)
			}
			for _, f := range frames {
				if i, ok := at[key(f.File, f.Line)]; ok && sameFile(r.lines[i].file, f.File) {
					r.lines[i].file = f.File
					r.has(&r.lines[i], f.Func, in.At())
				}
			}
		})
	}
}

// sameFile reports whether a file name in a patch, with leading folders (a/kernel/kprobes.c), is
// the one in the debug information.
func sameFile(patch, known string) bool {
	return patch == known || strings.HasSuffix(patch, "/"+known)
}

// has records that an instruction belongs to a line.
func (r *found) has(l *line, name string, at arch.Addr) {
	if l.place < 0 {
		l.place = len(r.code.Places)
		r.code.Places = append(r.code.Places, change.Place{Func: name, Line: fmt.Sprintf("%s:%d", l.file, l.number)})
	}
	p := &r.code.Places[l.place]
	if n := len(p.Addrs); n == 0 || p.Addrs[n-1] != at {
		p.Addrs = append(p.Addrs, at)
	}
}

func (r *found) sortLines() {
	slices.SortFunc(r.lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.number, b.number))
	})
	r.lines = slices.CompactFunc(r.lines, func(a, b line) bool { return a.file == b.file && a.number == b.number })
}

// cutLine splits "kernel/kprobes.c:628".
func cutLine(s string) (file string, number int, ok bool) {
	file, n, ok := strings.Cut(s, ":")
	number, err := strconv.Atoi(n)
	return file, number, ok && err == nil
}

// A stretch is a sequence of adjacent lines reached by the same number of runs.
type stretch struct {
	File     string `json:"file"`
	From     int    `json:"from"`
	To       int    `json:"to"`
	Reached  uint64 `json:"runs"` // number of runs that reached it
	Runs     uint64 `json:"of"`
	Count    bool   `json:"executed,omitempty"` // Reached counts executions in all runs instead
	HasCode  bool   `json:"has_code"`           // false: no instruction that runs belongs to these lines
	Function string `json:"function,omitempty"`

	By []reacher `json:"by,omitempty"` // scenarios and drawn programs that reached it, the surest first
}

// stretches groups the lines.
func (r *found) stretches() (list []stretch) {
	for _, l := range r.lines {
		s := stretch{File: l.file, From: l.number, To: l.number, Runs: r.runsAfter, HasCode: l.place >= 0,
			Count: r.ofPrograms}
		if l.place >= 0 {
			s.Reached, s.Function = r.reached[l.place], r.code.Places[l.place].Func
			if l.place < len(r.by) {
				s.By = slices.Clone(r.by[l.place])
			}
			slices.SortStableFunc(s.By, func(a, b reacher) int { return cmp.Compare(b.Runs*a.Of, a.Runs*b.Of) })
		}
		if n := len(list); n > 0 {
			if was := &list[n-1]; was.File == s.File && was.To+1 == s.From && was.Reached == s.Reached &&
				was.HasCode == s.HasCode && was.Function == s.Function && slices.Equal(was.By, s.By) {
				was.To = s.To
				continue
			}
		}
		list = append(list, s)
	}
	return list
}

// lines names the lines of a stretch: "line 5", "lines 5–9".
func (s *stretch) lines() string {
	if s.From == s.To {
		return fmt.Sprintf("line %d", s.From)
	}
	return fmt.Sprintf("lines %d–%d", s.From, s.To)
}

// says describes a stretch in a sentence.
func (s *stretch) says() string {
	verb := "was"
	if s.From != s.To {
		verb = "were"
	}
	where := s.lines()
	if s.Function != "" {
		where += " (" + s.Function + ")"
	}
	switch {
	case !s.HasCode:
		return fmt.Sprintf("%s: no instruction of its own that runs here", where)
	case s.Reached == 0:
		return fmt.Sprintf("%s %s never reached", where, verb)
	case s.Count:
		return fmt.Sprintf("%s %s executed, %d times in %d runs", where, verb, s.Reached, s.Runs)
	}
	return fmt.Sprintf("%s %s reached in %d of %d runs%s", where, verb, s.Reached, s.Runs, s.reachers())
}

// reachersShown is the number of scenarios that are named for a line.
const reachersShown = 2

// reachers names some of the scenarios that reached a stretch, the surest first.
func (s *stretch) reachers() string {
	if len(s.By) == 0 {
		return ""
	}
	var says []string
	for _, b := range s.By[:min(len(s.By), reachersShown)] {
		says = append(says, fmt.Sprintf("%s (%d of %d)", b.Scenario, b.Runs, b.Of))
	}
	if n := len(s.By) - reachersShown; n > 0 {
		says = append(says, fmt.Sprintf("%d more", n))
	}
	return ": " + strings.Join(says, ", ")
}

// entered returns the number of runs that entered a differing function; ok is false if that isn't
// known.
func (r *found) entered(name string) (n uint64, ok bool) {
	i := slices.IndexFunc(r.code.Places, func(p change.Place) bool { return p.Entry && p.Func == name })
	if i < 0 || r.runsAfter == 0 {
		return 0, false
	}
	return r.reached[i], true
}
