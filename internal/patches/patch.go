package patches

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"kpsim/internal/lazyregexp"
)

// Most is the maximum size of a file of patches, in bytes.
const Most = 16 << 20

// A Patch is one mail's change, or a plain diff's.
type Patch struct {
	Subject string // without [PATCH …]; "" for a plain diff
	Commit  string // which git format-patch made it of; "" if it isn't named
	Files   []*gitdiff.File

	number, of, version int // of the series, as the subject says; 0: it doesn't
}

// Title returns the subject in quotes, or the name of the file for a plain diff.
func (p *Patch) Title(file string) string {
	if p.Subject == "" {
		return file
	}
	return strconv.Quote(p.Subject)
}

// give is the remedy for a text that is no patch.
const give = "give a unified diff, as diff -u and git format-patch write it"

// Read reads the patches of a text: a diff, a mail with one, or an mbox. Mails without a diff, as cover letters
// and replies are, are left out; a series is sorted by its numbers. The error is one line that ends with a remedy.
func Read(text []byte) ([]*Patch, error) {
	var list []*Patch
	var first error
	for i, mail := range split(text) {
		p, err := read(mail)
		if err != nil {
			first = cmp.Or(first, fmt.Errorf("mail %d: %w", i+1, err))
			if len(split(text)) == 1 {
				first = err
			}
		} else if p != nil {
			list = append(list, p)
		}
	}
	switch {
	case first != nil:
		return nil, first
	case len(list) == 0:
		return nil, errors.New("it changes no line; " + give)
	}
	return sorted(list)
}

// read reads one mail or diff; nil if it has no diff.
func read(mail []byte) (*Patch, error) {
	head, body, err := decoded(mail)
	if err != nil {
		return nil, err
	}
	files, _, err := gitdiff.Parse(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s; %s", strings.TrimPrefix(oneLine(err), "gitdiff: "), give)
	}
	p := &Patch{Files: slices.DeleteFunc(files, empty), Commit: commitOf(mail)}
	p.named(head.Get("Subject"))
	if len(p.Files) == 0 {
		return nil, nil
	}
	for _, f := range p.Files {
		if err := plain(f); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// empty reports whether a file of a diff changes no line.
func empty(f *gitdiff.File) bool {
	return len(f.TextFragments) == 0 && !f.IsDelete && !f.IsRename && !f.IsCopy && !f.IsBinary && f.NewMode == 0
}

// series matches what the subject of a patch begins with: [PATCH v2 3/5].
var series = lazyregexp.New(`^(?:\[[^\]]*\]\s*)+`)

// counted matches the numbers in it.
var (
	versioned = lazyregexp.New(`(?i)\bv(\d{1,4})\b`)
	counted   = lazyregexp.New(`(\d{1,4})/(\d{1,4})`)
)

// named takes a subject apart.
func (p *Patch) named(subject string) {
	subject = strings.Join(strings.Fields(subject), " ")
	tag := series().FindString(subject)
	p.Subject = subject[len(tag):]
	if m := versioned().FindStringSubmatch(tag); m != nil {
		p.version, _ = strconv.Atoi(m[1])
	}
	if m := counted().FindStringSubmatch(tag); m != nil {
		p.number, _ = strconv.Atoi(m[1])
		p.of, _ = strconv.Atoi(m[2])
	}
}

// sorted sorts a series by its numbers. Patches without numbers stay as they come.
func sorted(list []*Patch) ([]*Patch, error) {
	for _, p := range list[1:] {
		if p.version != list[0].version && p.of > 0 && list[0].of > 0 {
			return nil, fmt.Errorf("it holds v%d and v%d of a series; give one of them", max(list[0].version, 1),
				max(p.version, 1))
		}
	}
	if !slices.ContainsFunc(list, func(p *Patch) bool { return p.number == 0 }) {
		slices.SortStableFunc(list, func(a, b *Patch) int { return cmp.Compare(a.number, b.number) })
	}
	return list, nil
}

// Names returns the paths of a patch's files, as the new tree has them.
func (p *Patch) Names() (names []string) {
	for _, f := range p.Files {
		names = append(names, Name(f))
	}
	return names
}

// Name returns the path of a file after the patch, without the a/ or b/ that git begins it with.
func Name(f *gitdiff.File) string {
	name := f.NewName
	if name == "" {
		name = f.OldName
	}
	return cut(name)
}

// cut removes the first folder of a/kernel/kprobes.c, which a diff without git's header keeps.
func cut(name string) string {
	for _, side := range []string{"a/", "b/"} {
		if rest, ok := strings.CutPrefix(name, side); ok {
			return rest
		}
	}
	return name
}
