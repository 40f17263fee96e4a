package traces

import (
	"strings"
	"unicode/utf8"
)

// foldWidth is the longest line that Marshal writes, in characters. Quoted twice such a line
// has 72, and no mail program folds it.
const foldWidth = 68

// originFolded is the line of the origin that says that long lines are folded. Marshal
// computes it, and Parse removes it.
const originFolded = "folded lines"

const foldedSays = "those that end in a backslash go on in the next one"

// foldLines cuts overlong lines of a text; each piece but the last is followed by a backslash.
// It also cuts lines that end in a backslash or a blank. any reports whether it cut any line.
func foldLines(text string) (folded string, any bool) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, end := strings.CutSuffix(line, "\n")
		for {
			n := foldAt(line)
			if n < 0 {
				break
			}
			b.WriteString(line[:n])
			b.WriteString("\\\n")
			line, any = line[n:], true
		}
		b.WriteString(line)
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String(), any
}

// foldAt returns where to cut a line, or -1 if it isn't to be cut.
func foldAt(line string) int {
	if utf8.RuneCountInString(line) <= foldWidth {
		if t := strings.TrimRight(line, " \t\\"); len(t) < len(line) {
			return len(line)
		}
		return -1
	}
	cut, blank, width := 0, 0, 0
	for i := range line {
		if width == foldWidth {
			break
		}
		width++
		if i == 0 || !foldable(line[i:]) {
			continue
		}
		cut = i
		if line[i-1] == ' ' && width > foldWidth/2 {
			blank = i
		}
	}
	switch {
	case blank > 0:
		return blank
	case cut > 0:
		return cut
	}
	return len(line) // only blanks, or similar
}

// foldable reports whether a line may begin with s: not with text that mail programs change,
// nor with the beginning of a section.
func foldable(s string) bool {
	return s[0] != ' ' && s[0] != '\t' && s[0] != '>' && s[0] != '-' && !strings.HasPrefix(s, "From ")
}

// wrap breaks a text at blanks for readers. The result isn't read back.
func wrap(s string) string {
	var b strings.Builder
	width := 0
	for i, word := range strings.Fields(s) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case width+1+n > foldWidth && word[0] != '-' && word[0] != '>':
			b.WriteByte('\n')
			width = 0
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += n
	}
	return b.String()
}
