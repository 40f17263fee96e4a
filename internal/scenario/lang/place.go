package lang

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/syntax"

	"kpsim/internal/lazyregexp"
)

// This file finds the argument that a message is about. A message names its parameter before the
// remedy, which a semicolon begins: `cpus = 65 is out of range`, `task "t": repeat = 0 is …`,
// `pre[1] is schedule()`. If the call has that argument, the message is about its place, or about
// that of the element of a list; otherwise about the call's.

// subject returns the place of the argument that a message is about, in the call at a place.
func (l *loader) subject(at syntax.Position, msg string) syntax.Position {
	args := l.arguments(at)
	if len(args) == 0 {
		return at
	}
	if m := keyword().FindStringSubmatch(msg); m != nil {
		return placeOf(args, at, m[1]+m[2], -1)
	}
	msg, _, _ = strings.Cut(quotedText().ReplaceAllString(msg, `""`), "; ")
	for _, m := range parameterNamed().FindAllStringSubmatch(msg, -1) {
		if len(m[1]) == 1 && !strings.Contains(m[0], " is ") && m[2] == "" { // f+0x3 is of a function called f
			continue
		}
		i := -1
		if m[2] != "" {
			i, _ = strconv.Atoi(m[2])
		}
		if p := placeOf(args, at, m[1], i); p != at {
			return p
		}
	}
	return at
}

var (
	// keyword matches what is said of an argument by its name: no parameter, or one given twice.
	keyword = lazyregexp.New(`has no parameter "(\w+)"|is given (\w+) twice`)
	// quotedText matches what a program says, which names no parameter.
	quotedText = lazyregexp.New(`"(?:[^"\\]|\\.)*"`)
	// parameterNamed matches a word that may be a parameter's name, and an index.
	parameterNamed = lazyregexp.New(`([A-Za-z_]\w*)(?:\[(\d+)\])?(?: is )?`)
)

// placeOf returns the place of an argument, or of its element i; at if the call hasn't it.
func placeOf(args []placed, at syntax.Position, name string, i int) syntax.Position {
	for _, a := range args {
		switch {
		case a.name != name:
		case i >= 0 && i < len(a.elements):
			return a.elements[i]
		default:
			return a.at
		}
	}
	return at
}

// A placed is where an argument of a call is, and where the elements of a list in it begin.
type placed struct {
	name     string
	at       syntax.Position // of its name, if that is written
	elements []syntax.Position
}

// arguments returns the arguments of the call at a place, which is that of its name or its
// bracket; nil if there is no call of the language.
func (l *loader) arguments(at syntax.Position) []placed {
	s := scanner{lines: l.lines, line: int(at.Line) - 1, col: int(at.Col) - 1}
	if s.line < 0 || s.line >= len(s.lines) || s.col < 0 {
		return nil
	}
	line := []rune(s.lines[s.line]) // columns count characters
	if s.col > len(line) {
		return nil
	}
	s.rest = string(line[s.col:])
	name := s.word()
	if name == "" { // at the bracket: the name stands before it, if it is there at all
		return nil
	}
	var names []string
	for i := range language {
		if v := &language[i]; v.name() == name {
			sig, _, _ := strings.Cut(v.sig, ", *") // what follows has to be named
			names = (&call{sig: sig}).parameters()
		}
	}
	if s.next() != '(' || names == nil {
		return nil
	}
	return s.arguments(at, names)
}

// A scanner goes through a program's text, past blanks, comments and strings.
type scanner struct {
	lines     []string
	line, col int    // from 0; col counts characters
	rest      string // of the line
}

// maxScanned bounds the tokens that a scanner goes through: it is for a message.
const maxScanned = 1 << 16

// at returns where it is.
func (s *scanner) at(file syntax.Position) syntax.Position {
	file.Line, file.Col = int32(s.line+1), int32(s.col+1)
	return file
}

// skip goes on by n bytes.
func (s *scanner) skip(n int) {
	s.col += utf8.RuneCountInString(s.rest[:n])
	s.rest = s.rest[n:]
}

// char goes on by a character.
func (s *scanner) char() {
	_, n := utf8.DecodeRuneInString(s.rest)
	s.skip(n)
}

// word takes a name; "" if none begins here.
func (s *scanner) word() string {
	n := 0
	for n < len(s.rest) && (s.rest[n] == '_' || s.rest[n]|0x20 >= 'a' && s.rest[n]|0x20 <= 'z' ||
		n > 0 && s.rest[n] >= '0' && s.rest[n] <= '9') {
		n++
	}
	name := s.rest[:n]
	s.skip(n)
	return name
}

// blanks goes on to the next token, and reports whether there is one.
func (s *scanner) blanks() bool {
	for {
		s.skip(len(s.rest) - len(strings.TrimLeft(s.rest, " \t\r")))
		if s.rest != "" && s.rest[0] != '#' && s.rest != "\\" {
			return true
		}
		if s.line+1 >= len(s.lines) {
			return false
		}
		s.line, s.col, s.rest = s.line+1, 0, s.lines[s.line+1]
	}
}

// next takes the next token, and returns its first byte; of a string a quote, 0 at the end.
func (s *scanner) next() byte {
	if !s.blanks() {
		return 0
	}
	c := s.rest[0]
	switch {
	case c == '"' || c == '\'':
		s.quoted(s.rest[:1])
	case s.word() != "":
	default:
		s.char()
	}
	return c
}

// quoted goes past a string.
func (s *scanner) quoted(quote string) {
	if long := strings.Repeat(quote, 3); strings.HasPrefix(s.rest, long) {
		quote = long
	}
	s.skip(len(quote))
	for {
		switch {
		case strings.HasPrefix(s.rest, quote):
			s.skip(len(quote))
			return
		case s.rest == "" || s.rest == "\\":
			if s.line+1 >= len(s.lines) {
				return
			}
			s.line, s.col, s.rest = s.line+1, 0, s.lines[s.line+1]
		case s.rest[0] == '\\':
			s.skip(1)
			fallthrough
		default:
			s.char()
		}
	}
}

// arguments goes through the arguments behind an opening bracket; names are those of the parameters.
func (s *scanner) arguments(file syntax.Position, names []string) (args []placed) {
	depth, begins, listed := 1, true, false
	for n := 0; n < maxScanned && s.blanks(); n++ {
		here := s.at(file)
		if depth == 1 && begins && s.rest[0] != ')' {
			a := placed{at: here}
			if len(args) < len(names) {
				a.name = names[len(args)]
			}
			named := *s
			if word := named.word(); word != "" && named.blanks() && named.rest[0] == '=' &&
				!strings.HasPrefix(named.rest, "==") {
				a.name = word
				named.skip(1)
				*s = named
				s.blanks()
			}
			args, listed = append(args, a), strings.HasPrefix(s.rest, "[")
		} else if last := len(args) - 1; depth == 2 && begins && listed && s.rest[0] != ']' {
			args[last].elements = append(args[last].elements, here)
		}
		c := s.next()
		begins = c == ',' || c == '['
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return args
			}
		}
	}
	return args
}
