package ctest

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// An Error is what is wrong with a file, and where.
type Error struct {
	File string
	Line int
	Col  int // in characters, from 1; 0: the line is all that is known
	Says string
}

func (e *Error) Error() string {
	if e.Col == 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Says)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Says)
}

// A place is where a word is.
type place struct{ line, col int }

// A lexer cuts a test into words. In C (a thread's parameters and body) "(*" isn't a
// comment; outside it is.
type lexer struct {
	file, text string
	pos, line  int
	begins     int // where the line begins
	inC        bool

	word string // the current one; "" at the end
	at   place
}

func (l *lexer) fail(format string, args ...any) {
	panic(&Error{l.file, max(l.at.line, 1), max(l.at.col, 1), fmt.Sprintf(format, args...)})
}

// here returns where the lexer is.
func (l *lexer) here() place {
	return place{l.line, 1 + utf8.RuneCountInString(l.text[l.begins:l.pos])}
}

// ended goes past a newline.
func (l *lexer) ended() {
	l.pos++
	l.line, l.begins = l.line+1, l.pos
}

// advance reads the next word.
func (l *lexer) advance() {
	l.space()
	l.at = l.here()
	rest := l.text[l.pos:]
	n := 0
	switch {
	case rest == "":
	case rest[0] == '"':
		n = strings.IndexByte(rest[1:], '"') + 2
		if n < 2 || strings.Contains(rest[:n], "\n") {
			l.fail("a string isn't closed; put \" where it ends")
		}
	case wordByte(rest[0]):
		for n < len(rest) && wordByte(rest[n]) {
			n++
		}
	default:
		n = 1
		for _, op := range operators {
			if strings.HasPrefix(rest, op) {
				n = len(op)
				break
			}
		}
	}
	l.word = rest[:n]
	l.pos += n
}

var operators = []string{"<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "->", "++", "--", "+=", "-=", `/\`, `\/`, "=>"}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// space skips white space and comments.
func (l *lexer) space() {
	for l.pos < len(l.text) {
		rest := l.text[l.pos:]
		switch {
		case rest[0] == '\n':
			l.ended()
		case strings.IndexByte(" \t\r", rest[0]) >= 0:
			l.pos++
		case strings.HasPrefix(rest, "//"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			l.pos += n
		case strings.HasPrefix(rest, "/*"):
			l.comment("/*", "*/", false)
		case !l.inC && strings.HasPrefix(rest, "(*"):
			l.comment("(*", "*)", true)
		default:
			return
		}
	}
}

func (l *lexer) comment(open, shut string, nests bool) {
	l.at = l.here()
	depth := 0
	for l.pos < len(l.text) {
		rest := l.text[l.pos:]
		switch {
		case strings.HasPrefix(rest, open) && (depth == 0 || nests):
			depth++
			l.pos += 2
		case strings.HasPrefix(rest, shut):
			depth--
			l.pos += 2
			if depth == 0 {
				return
			}
		case rest[0] == '\n':
			l.ended()
		default:
			l.pos++
		}
	}
	l.fail("a comment isn't closed; put %s where it ends", shut)
}

// take reads on if the current word is w.
func (l *lexer) take(w string) bool {
	if l.word != w {
		return false
	}
	l.advance()
	return true
}

func (l *lexer) expect(w string) {
	if !l.take(w) {
		l.fail("%s stands where %s is expected; put one there, or correct it", l.shown(), w)
	}
}

func (l *lexer) shown() string {
	if l.word == "" {
		return "the end of the file"
	}
	return l.word
}

// name reads an identifier.
func (l *lexer) name() string {
	w := l.word
	if w == "" || !wordByte(w[0]) || digit(w[0]) {
		l.fail("%s stands where a name is expected; write one", l.shown())
	}
	l.advance()
	return w
}

func digit(c byte) bool { return '0' <= c && c <= '9' }
