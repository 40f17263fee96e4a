package patches

import (
	"fmt"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// An Applied says what a patch did to a tree.
type Applied struct {
	Absent  []string // files that the tree lacks and that were left out
	Moved   []string // hunks that were found elsewhere, one sentence each
	Removed int      // lines that it removes
}

// A Conflict is a hunk that doesn't fit.
type Conflict struct {
	File string
	Hunk int // counted from 1
	Of   int
	Line int    // of the file, counted from 1, at which the hunk fails; 0: none
	Says string // what is there instead
}

// Error implements error.
func (c *Conflict) Error() string {
	at := c.File
	if c.Line > 0 {
		at = fmt.Sprintf("%s:%d", c.File, c.Line)
	}
	if c.Hunk == 0 {
		return fmt.Sprintf("%s: %s", at, c.Says)
	}
	return fmt.Sprintf("hunk %d of %d of %s doesn't apply: %s", c.Hunk, c.Of, at, c.Says)
}

// Apply applies a patch. Files that the tree lacks are left out, since a tree may have only some of a kernel's
// files; if it has none of them, that is an error. After an error the tree is as before.
func (t *Tree) Apply(p *Patch) (*Applied, error) {
	done := new(Applied)
	next := make(map[string]*File)
	t.count++
	fail := func(err error) (*Applied, error) {
		t.count--
		return nil, err
	}
	for _, d := range p.Files {
		from, to := cut(orElse(d.OldName, d.NewName)), Name(d)
		if d.IsBinary || len(d.TextFragments) == 0 && !d.IsDelete && !d.IsRename && !d.IsCopy {
			continue // a picture, or a mode alone
		}
		f := &File{Name: to}
		var err error
		if !d.IsNew {
			if was := next[from]; was != nil && !was.Gone {
				f = &File{Name: to, Lines: append([]Line(nil), was.Lines...)}
			} else if f, err = t.file(from); absent(err) {
				done.Absent = append(done.Absent, from)
				continue
			} else if err != nil {
				return fail(err)
			}
			f.Name = to
		} else if next[to] != nil || t.Has(to) {
			return fail(&Conflict{File: to, Says: "the patch makes this file, and the source has it already"})
		}
		if err := t.fragments(f, d, done); err != nil {
			return fail(err)
		}
		if d.IsRename {
			next[from] = &File{Name: from, Gone: true}
		}
		f.Gone = d.IsDelete
		next[to] = f
	}
	if len(next) == 0 {
		return fail(fmt.Errorf("the source has none of its files: %s", strings.Join(p.Names(), ", ")))
	}
	for name, f := range next {
		t.files[name] = f
	}
	return done, nil
}

// fragments applies the hunks of a file.
func (t *Tree) fragments(f *File, d *gitdiff.File, done *Applied) error {
	moved := 0 // by how many lines the last hunk was elsewhere, with what hunks before added
	after := 0 // the line, counted from 0, after the last hunk
	for i, h := range d.TextFragments {
		if err := h.Validate(); err != nil {
			return &Conflict{f.Name, i + 1, len(d.TextFragments), 0, err.Error()}
		}
		old := preimage(h)
		want := int(h.OldPosition) - 1 + moved
		if h.OldLines == 0 {
			want++ // after that line, as diff counts it
		}
		at, ok := place(f.Lines, old, want, after)
		if !ok {
			c := &Conflict{File: f.Name, Hunk: i + 1, Of: len(d.TextFragments)}
			c.explain(f.Lines, h, want)
			return c
		}
		if n := at - want; n != 0 {
			done.Moved = append(done.Moved, fmt.Sprintf("hunk %d of %s was found %d lines %s", i+1, f.Name, max(n, -n),
				map[bool]string{true: "later", false: "earlier"}[n > 0]))
		}
		lines := f.Lines[at:]
		var now []Line
		k := 0
		for _, l := range h.Lines {
			switch l.Op {
			case gitdiff.OpAdd:
				now = append(now, Line{l.Line, t.count})
				continue
			case gitdiff.OpContext:
				now = append(now, lines[k])
			case gitdiff.OpDelete:
				done.Removed++
			}
			k++
		}
		f.Lines = append(append(append([]Line(nil), f.Lines[:at]...), now...), lines[k:]...)
		after = at + len(now)
		moved = at - (int(h.OldPosition) - 1) + len(now) - len(old)
		if h.OldLines == 0 {
			moved--
		}
	}
	return nil
}

// preimage returns the lines that a hunk wants.
func preimage(h *gitdiff.TextFragment) (old []string) {
	for _, l := range h.Lines {
		if l.Old() {
			old = append(old, l.Line)
		}
	}
	return old
}

// place finds where lines are, the nearest place first, not before line after.
func place(lines []Line, old []string, want, after int) (at int, ok bool) {
	fits := func(at int) bool {
		if at < after || at+len(old) > len(lines) {
			return false
		}
		for i := range old {
			if !same(lines[at+i].Text, old[i]) {
				return false
			}
		}
		return true
	}
	if len(old) == 0 { // nothing says where it belongs but its number
		return want, fits(want)
	}
	want = min(max(want, 0), len(lines))
	for n := 0; n <= len(lines); n++ {
		if fits(want + n) {
			return want + n, true
		}
		if fits(want - n) {
			return want - n, true
		}
	}
	return 0, false
}

// same compares lines but for the end of a file without a newline.
func same(a, b string) bool { return strings.TrimSuffix(a, "\n") == strings.TrimSuffix(b, "\n") }

// explain says what is in the file where a hunk should be: the first line that differs at the place where most
// lines are as the hunk wants them.
func (c *Conflict) explain(lines []Line, h *gitdiff.TextFragment, want int) {
	var now []string
	for _, l := range h.Lines {
		if l.New() {
			now = append(now, l.Line)
		}
	}
	if at, ok := place(lines, now, want, 0); ok && h.LinesAdded > 0 && h.LeadingContext+h.TrailingContext > 0 {
		c.Line, c.Says = at+1, "the source has this change already"
		return
	}
	old := preimage(h)
	best, at := -1, 0
	for i := range lines {
		n := 0
		for k := range old {
			if i+k < len(lines) && same(lines[i+k].Text, old[k]) {
				n++
			}
		}
		if n > best || n == best && distance(i, want) < distance(at, want) {
			best, at = n, i
		}
	}
	if best <= 0 { // nothing is alike: its own place
		at = min(max(want, 0), max(len(lines)-1, 0))
	}
	for k, text := range old {
		there := "the file ends"
		if at+k < len(lines) {
			if same(lines[at+k].Text, text) {
				continue
			}
			there = fmt.Sprintf("the source has %q", strings.TrimSpace(lines[at+k].Text))
		}
		c.Line = at + k + 1
		c.Says = fmt.Sprintf("%s where the patch wants %q", there, strings.TrimSpace(text))
		return
	}
	c.Says = "its lines overlap those of the hunk before"
}

func distance(a, b int) int { return max(a-b, b-a) }
