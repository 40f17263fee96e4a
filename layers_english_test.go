package kpsim

import (
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// foreign are words and phrases that read like a translation. The remedy is to name the
// subject (which CPU, task or caller), and to write "after", "reaches", "doesn't have to".
var foreign = regexp.MustCompile(`(?i)\b(whoever|whomever|whom|nobody|mightn't|needn't|(?:is|are|was|were) come to)\b`)

// madePages are written by tests or commands, from the words of the code.
var madePages = []string{"docs/events.md", "docs/matrix.md", "docs/mutants.md", "docs/spec-coverage.md"}

// TestEnglish: comments, and the prose of pages, have none of these words.
func TestEnglish(t *testing.T) {
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != "."):
			return fs.SkipDir
		case strings.HasSuffix(path, ".md") && !under(path, madePages) && (strings.HasPrefix(path, "docs/") || !strings.Contains(path, "/")):
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			checkProse(t, path, string(text))
		}
		return nil
	}))
	for _, f := range tree(t) {
		checkComments(t, f.file)
	}
}

func under(path string, rooms []string) bool {
	for _, r := range rooms {
		if strings.HasPrefix(path, r) {
			return true
		}
	}
	return false
}

func checkComments(t *testing.T, f *ast.File) {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if w := foreign.FindString(c.Text); w != "" {
				t.Errorf("%s: %q in a comment: name the subject, in plain English", fileSet.Position(c.Pos()), w)
			}
		}
	}
}

// checkProse skips blocks, which show programs and output, and tables that are made from
// the code.
func checkProse(t *testing.T, path, page string) {
	fenced, made := false, false
	for i, line := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case strings.HasPrefix(line, "<!-- made from "):
			made = true
		case line == "<!-- end -->":
			made = false
		case !fenced && !made && !strings.HasPrefix(line, "    "):
			if w := foreign.FindString(line); w != "" {
				t.Errorf("%s:%d: %q: name the subject, in plain English", path, i+1, w)
			}
		}
	}
}

// TestEnglishPlanted: the check notices such a word in prose, and not in a block.
func TestEnglishPlanted(t *testing.T) {
	require.Equal(t, "Whoever", foreign.FindString("Whoever holds the mutex."))
	require.Equal(t, "is come to", foreign.FindString("a state that is come to again"))
	require.Empty(t, foreign.FindString("The task that holds the mutex has come to its end."))
}

// roomsMost bounds the rooms of the map: the lines of its drawing that aren't indented.
const roomsMost = 18

// TestMap: doc.go has each package of the table, in full or by its last name below the
// room that it is in, and has few rooms.
func TestMap(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	rooms := make(map[string]string) // the text of each
	room := ""
	var all strings.Builder
	for _, line := range strings.Split(string(doc), "\n") {
		line, drawn := strings.CutPrefix(line, "//\t")
		switch {
		case strings.HasPrefix(line, "// # One source"):
			line = ""
		case !drawn:
			continue
		case !strings.HasPrefix(line, " "):
			room = strings.Fields(line)[0]
		}
		if line == "" || strings.HasPrefix(line, "scenario ─►") {
			break
		}
		rooms[room] += " " + line
		all.WriteString(line + "\n")
	}
	require.LessOrEqual(t, len(rooms), roomsMost)
	for _, l := range layers {
		if strings.HasPrefix(l.pkg, "scripts/") || regexp.MustCompile(`\b`+regexp.QuoteMeta(l.pkg)+`\b`).MatchString(all.String()) {
			continue
		}
		above := l.pkg
		for rooms[above] == "" && above != "." {
			above = filepath.Dir(above)
		}
		require.Regexp(t, `\b`+regexp.QuoteMeta(filepath.Base(l.pkg))+`\b`, rooms[above], "doc.go doesn't have %s", l.pkg)
	}
}
