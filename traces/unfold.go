package traces

import (
	"slices"
	"strings"
	"unicode/utf8"

	"kpsim/internal/lazyregexp"
)

// Mail programs fold lines at 60 to 100 characters. A text with longer lines wasn't folded.
const (
	leastFold = 60
	mostFold  = 100
)

// The constants bound what is joined: the greatest length of an original line, in bytes, and
// the number of lines for which more than one way of joining is tried.
const (
	mostJoined = 4 << 10
	mostTried  = 20000
)

// unfold joins folded lines: those that end in a backslash, if Marshal has folded lines, and
// those that a mail program has broken at a blank. It recognises the latter by the syntax: a
// string that doesn't end, or a line of the verdict without a key. If a mail program has
// folded lines, two lines that the syntax allows to be separate may also have been one. unfold
// then returns both versions.
func (l *letter) unfold() []letter {
	u := unfolder{l: l}
	u.ours = slices.ContainsFunc(l.lines, func(s string) bool { return strings.HasPrefix(s, originFolded+": ") })
	u.width = leastFold
	for _, line := range l.lines {
		if n := utf8.RuneCountInString(line); n > u.width && strings.Contains(strings.TrimSpace(line), " ") {
			u.width = n
		}
	}
	least := u.join()
	if least.changed = u.found || l.changed; len(l.lines) > mostTried {
		return []letter{least}
	}
	if !least.changed {
		return append([]letter{least}, least.unstuff()...) // only if the checksum confirms them
	}
	u.all = true
	var list []letter
	for _, j := range []letter{u.join(), least} {
		j.changed = true
		stuffed := j.unstuff()
		if len(stuffed) > 0 && stuffed[0].even() {
			list = append(list, stuffed[0])
		}
		list = append(append(list, j), stuffed...)
	}
	return list
}

type unfolder struct {
	l     *letter
	width int  // the longest line that could have been broken
	ours  bool // Marshal has folded lines
	all   bool // also join lines that only may have been one
	found bool // a mail program has folded some lines

	section string
	scan    scanner
	now     []byte // the line so far
	last    string // the last piece of now
}

func (u *unfolder) join() letter {
	to := letter{changed: u.l.changed}
	u.section, u.scan, u.now = "", scanner{}, u.now[:0]
	open := false // the line continues
	done := func() {
		if n := len(to.lines); n > 0 {
			to.lines[n-1] = string(u.now)
		}
	}
	for i, line := range u.l.lines {
		marker := isMarker(line)
		piece := line
		switch {
		case marker:
			done()
			to.lines, to.at = append(to.lines, ""), append(to.at, u.l.at[i])
			u.section, u.scan, u.now = strings.TrimSpace(line[3:max(len(line)-3, 3)]), scanner{}, u.now[:0]
		case open:
		case u.goesOn(line):
			piece = " " + line
			to.changed, u.found = true, true
		default:
			done()
			to.lines, to.at = append(to.lines, ""), append(to.at, u.l.at[i])
			u.scan.line()
			u.now = u.now[:0]
		}
		open = u.ours && !marker && strings.HasSuffix(piece, `\`)
		if open {
			piece = piece[:len(piece)-1]
		}
		u.now, u.last = append(u.now, piece...), line
		if u.section == sections[0] && !marker {
			u.scan.read(piece)
		}
	}
	done()
	return to
}

// isMarker reports whether a line begins a section.
func isMarker(line string) bool {
	return strings.HasPrefix(line, "-- ") && strings.HasSuffix(line, " --")
}

// broken reports whether a mail program may have broken the line before this one, because the
// first word of this line didn't fit there.
func (u *unfolder) broken(line string) bool {
	if u.width > mostFold || line == "" || line[0] == ' ' || line[0] == '\t' {
		return false
	}
	word, _, _ := strings.Cut(line, " ")
	return utf8.RuneCountInString(u.last)+1+utf8.RuneCountInString(word) > u.width
}

var (
	verdictLine  = lazyregexp.New(`^(?:property|place|message):`)
	scheduleLine = lazyregexp.New(`^(?:#|(?:"[^"]*"|[^ ,:+"]+) in )`)
	statement    = lazyregexp.New(`^(?:[A-Za-z_][\w.]*(?:, *\w+)* *[=(]|(?:for|if|elif|else|def|return|load|pass)\b|[^\w ])`)
)

// goesOn reports whether the line so far continues in this one.
func (u *unfolder) goesOn(line string) bool {
	if line == `\` && u.ours {
		return true
	}
	if len(u.now) == 0 || len(u.now) > mostJoined || isMarker(u.last) || !u.broken(line) {
		return false
	}
	switch u.section {
	case "scenario.star":
		switch s := &u.scan; {
		case s.quote != 0 && !s.triple:
			return u.now[len(u.now)-1] != '\\' || u.ours
		case s.comment:
			return u.all && !statement().MatchString(line)
		case s.quote != 0:
			return u.all
		case s.depth > 0:
			return u.all && !strings.ContainsAny(line[:1], ")]}#")
		}
		return strings.IndexByte("=+-*/%,|&<>", u.now[len(u.now)-1]) >= 0
	case "schedule":
		if !scheduleLine().MatchString(line) {
			return true
		}
		_, err := parseDeviation(strings.TrimSpace(string(u.now)))
		return line[0] != '#' && u.now[0] != '#' && err != nil
	case "verdict":
		return !verdictLine().MatchString(line)
	case "origin":
		return !remarkLine().MatchString(line)
	}
	return false
}

// unstuff returns what the trace may have been before mail programs put a blank before
// lines of the scenario that begin with one (format=flowed), up to eight times.
func (l *letter) unstuff() (list []letter) {
	least, end := l.indent()
	for n := 1; n <= min(least-1, 8); n++ {
		to := letter{slices.Clone(l.lines), l.at, true}
		for i, line := range to.lines[:end] {
			if strings.HasPrefix(line, " ") {
				to.lines[i] = line[n:]
			}
		}
		list = append(list, to)
	}
	return list
}

// indent returns the least indentation of the scenario's indented lines, and where the
// scenario ends.
func (l *letter) indent() (least, end int) {
	end = max(slices.Index(l.lines, "-- schedule --"), 0)
	for _, line := range l.lines[:end] {
		if n := len(line) - len(strings.TrimLeft(line, " ")); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least, end
}

// even reports whether the scenario's indentation is the usual one of programs.
func (l *letter) even() bool {
	least, _ := l.indent()
	return least >= 2 && least%2 == 0
}

// A scanner tracks its position in a Starlark program, as far as it matters at the ends of
// lines.
type scanner struct {
	quote   byte // the quote of the string that it is in; 0: none
	triple  bool
	comment bool
	depth   int // open brackets
}

// read scans text of one line.
func (s *scanner) read(text string) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case s.comment:
			return
		case s.quote != 0:
			switch {
			case c == '\\':
				i++
			case c != s.quote:
			case !s.triple:
				s.quote = 0
			case strings.HasPrefix(text[i:], strings.Repeat(string(c), 3)):
				s.quote, i = 0, i+2
			}
		case c == '#':
			s.comment = true
		case c == '"' || c == '\'':
			s.quote, s.triple = c, strings.HasPrefix(text[i:], strings.Repeat(string(c), 3))
			if s.triple {
				i += 2
			}
		case c == '(' || c == '[' || c == '{':
			s.depth++
		case (c == ')' || c == ']' || c == '}') && s.depth > 0:
			s.depth--
		}
	}
}

// line ends the line. It treats a string that should have ended as ended, because Starlark
// then reports the error.
func (s *scanner) line() {
	s.comment = false
	if !s.triple {
		s.quote = 0
	}
}
