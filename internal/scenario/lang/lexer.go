package lang

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A tokenKind says what a token is.
type tokenKind uint8

const (
	endOfText tokenKind = iota
	newLine             // between statements; within brackets it is a blank
	nameToken
	numberToken
	stringToken
	markToken // one of ( ) [ ] , = + -
)

// A lexer cuts the text that Parse reads into tokens, and has the one at hand.
type lexer struct {
	l      *loader
	rest   string
	line   int32 // of rest
	col    int32 // of rest, in characters
	inside int   // how many brackets are open
	err    error // the first

	kind    tokenKind
	text    string // as it is written
	at      syntax.Position
	number  starlark.Int   // of a numberToken
	literal starlark.Value // of a stringToken: a String, or Bytes
}

func newLexer(l *loader, src []byte) lexer {
	return lexer{l: l, rest: string(src), line: 1, col: 1}
}

// failf records the first error, and ends the text there.
func (x *lexer) failf(at syntax.Position, format string, args ...any) {
	if x.err == nil {
		x.err = x.l.failf(at, format, args...)
	}
	x.kind, x.text, x.rest = endOfText, "", ""
}

// is reports whether the current token is this mark.
func (x *lexer) is(mark string) bool { return x.kind == markToken && x.text == mark }

// follows reports whether this mark comes after the current token.
func (x *lexer) follows(mark string) bool {
	ahead := *x
	ahead.next()
	return ahead.is(mark)
}

// what names the current token in a message.
func (x *lexer) what() string {
	switch x.kind {
	case endOfText:
		return "the end of the text"
	case newLine:
		return "the end of the line"
	}
	return fmt.Sprintf("%.60q", x.text)
}

// take moves over the first n bytes of rest and returns them.
func (x *lexer) take(n int) string {
	s := x.rest[:n]
	x.rest = x.rest[n:]
	if lines := strings.Count(s, "\n"); lines > 0 {
		x.line += int32(lines)
		x.col = 1 + int32(utf8.RuneCountInString(s[strings.LastIndexByte(s, '\n')+1:]))
	} else {
		x.col += int32(utf8.RuneCountInString(s))
	}
	return s
}

// blanks moves over blanks and comments.
func (x *lexer) blanks() {
	for {
		n := len(x.rest) - len(strings.TrimLeft(x.rest, " \t\r"))
		switch rest := x.rest[n:]; {
		case strings.HasPrefix(rest, "#"):
			if end := strings.IndexByte(rest, '\n'); end >= 0 {
				n += end
			} else {
				n += len(rest)
			}
		case strings.HasPrefix(rest, "\\\n"):
			n += 2
		case x.inside > 0 && strings.HasPrefix(rest, "\n"):
			n++
		}
		if n == 0 {
			return
		}
		x.take(n)
	}
}

// next reads the next token.
func (x *lexer) next() {
	if x.err != nil {
		return
	}
	x.blanks()
	x.at = syntax.MakePosition(&x.l.file, x.line, x.col)
	if x.rest == "" {
		x.kind, x.text = endOfText, ""
		return
	}
	letter := func(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' }
	digit := func(c byte) bool { return '0' <= c && c <= '9' }
	c := x.rest[0]
	n := 1
	switch {
	case c == '\n':
		x.kind = newLine
	case strings.IndexByte("()[],=+-", c) >= 0:
		x.kind = markToken
	case digit(c):
		for n < len(x.rest) && (letter(x.rest[n]) || digit(x.rest[n]) || x.rest[n] == '.') {
			n++
		}
		x.readNumber(x.rest[:n])
	case quotedFrom(x.rest) >= 0:
		n = x.readString(quotedFrom(x.rest))
	case letter(c):
		for n < len(x.rest) && (letter(x.rest[n]) || digit(x.rest[n])) {
			n++
		}
		x.kind = nameToken
	default:
		r, _ := utf8.DecodeRuneInString(x.rest)
		x.failf(x.at, "%q has no meaning here; %s", r, printedShape)
	}
	if x.err == nil {
		x.text = x.take(n)
	}
}

// readNumber reads a whole number.
func (x *lexer) readNumber(text string) {
	n, err := strconv.ParseUint(text, 0, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		x.failf(x.at, "%.60s doesn't fit in 64 bits; give a smaller number", text)
	case err != nil || len(text) > 1 && text[0] == '0' && '0' <= text[1] && text[1] <= '9':
		x.failf(x.at, "%.60q is no whole number; write it like 4096 or 0x1000", text)
	}
	x.kind, x.number = numberToken, starlark.MakeUint64(n)
}

// quotedFrom returns how many letters stand before the quotes of the string that s
// begins with, and below 0 if it begins with none.
func quotedFrom(s string) int {
	n := 0
	for n < len(s) && n < 2 && (s[n] == 'r' || s[n] == 'b') {
		n++
	}
	if n < len(s) && (s[n] == '"' || s[n] == '\'') {
		return n
	}
	return -1
}

// readString reads a string whose quotes begin at an index, and returns its length. What
// is in it is Starlark's to say.
func (x *lexer) readString(from int) int {
	quotes := x.rest[from : from+1]
	if triple := strings.Repeat(quotes, 3); strings.HasPrefix(x.rest[from:], triple) {
		quotes = triple
	}
	n := from + len(quotes)
	for ; n < len(x.rest) && !strings.HasPrefix(x.rest[n:], quotes); n++ {
		if x.rest[n] == '\\' {
			n++
		} else if x.rest[n] == '\n' && len(quotes) == 1 {
			break
		}
	}
	if n >= len(x.rest) || x.rest[n] == '\n' && len(quotes) == 1 {
		x.failf(x.at, "this string isn't closed; put %s where it ends", quotes)
		return 0
	}
	n += len(quotes)
	e, err := dialect.ParseExpr(x.l.file, x.rest[:n], 0) // one token: it goes no deeper
	lit, ok := e.(*syntax.Literal)
	var wrong syntax.Error
	switch {
	case errors.As(err, &wrong):
		x.failf(x.at, "this string is wrong: %s; correct it", wrong.Msg)
		return 0
	case !ok || err != nil:
		x.failf(x.at, "this string is wrong; write it in double quotes")
		return 0
	}
	x.kind = stringToken
	switch v := lit.Value.(type) {
	case string:
		x.literal = starlark.String(v)
		if lit.Token == syntax.BYTES {
			x.literal = starlark.Bytes(v)
		}
	}
	return n
}
