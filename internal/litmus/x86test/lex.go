package x86test

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A token is a word, a number or a sign of a test, and where it begins and ends.
type token struct {
	text     string
	from, to int
}

// end is the text of the token after the last.
const end = ""

// A parser reads a test. What it can't read it panics with as a *syntaxError.
type parser struct {
	path string
	src  string // comments are blank
	toks []token
	at   int
	t    *Test
}

type syntaxError struct{ says string }

// fail gives up at the current token.
func (p *parser) fail(format string, args ...any) {
	p.failAt(p.peek().from, format, args...)
}

func (p *parser) failAt(offset int, format string, args ...any) {
	line, col := p.place(offset)
	panic(&syntaxError{fmt.Sprintf("%s:%d:%d: %s", p.path, line, col, fmt.Sprintf(format, args...))})
}

// place returns the line and the column, in characters, of an offset, both from 1.
func (p *parser) place(offset int) (line, col int) {
	before := p.src[:min(offset, len(p.src))]
	begins := strings.LastIndexByte(before, '\n') + 1
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[begins:])
}

// blank replaces comments by spaces, so that what follows stays where it is.
func (p *parser) blank() {
	b := []byte(p.src)
	for i := 0; i+1 < len(b); i++ {
		if b[i] != '(' || b[i+1] != '*' {
			continue
		}
		depth, from := 0, i
		for ; i < len(b); i++ {
			if strings.HasPrefix(p.src[i:], "(*") {
				depth++
				i++
			} else if strings.HasPrefix(p.src[i:], "*)") {
				depth--
				i++
				if depth == 0 {
					break
				}
			}
		}
		if depth > 0 {
			p.failAt(from, "the comment has no end; close it with *)")
		}
		for k := from; k <= i; k++ {
			if b[k] != '\n' {
				b[k] = ' '
			}
		}
	}
	p.src = string(b)
	p.blankCommands()
}

// blankCommands replaces << ... >> by spaces: commands to another simulator, which the vendors'
// tests have after their conditions.
func (p *parser) blankCommands() {
	for {
		from := strings.Index(p.src, "<<")
		if from < 0 {
			return
		}
		n := strings.Index(p.src[from:], ">>")
		if n < 0 {
			p.failAt(from, "the commands have no end; close them with >>, or remove them")
		}
		lines := strings.Repeat("\n", strings.Count(p.src[from:from+n], "\n"))
		p.src = p.src[:from] + lines + strings.Repeat(" ", n+2-len(lines)) + p.src[from+n+2:]
	}
}

// signs of more than one character.
var signs = []string{`/\`, `\/`, "=>", "<>", "!=", "==", ":="}

// lex divides what comes after an offset into tokens.
func (p *parser) lex(from int) {
	s := p.src
	for i := from; i < len(s); {
		c := s[i]
		k := i + 1
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
			continue
		case isLetter(c) || isDigit(c):
			for k < len(s) && (isLetter(s[k]) || isDigit(s[k]) || s[k] == '.' && isLetter(c)) {
				k++
			}
		case strings.IndexByte(`/\=<>!|;,()[]{}:$%~*&-+@`, c) >= 0:
			for _, g := range signs {
				if strings.HasPrefix(s[i:], g) {
					k = i + len(g)
				}
			}
		default:
			p.failAt(i, "the character %q has no place in a test; remove it", rune(c))
		}
		p.toks = append(p.toks, token{s[i:k], i, k})
		i = k
	}
	p.toks = append(p.toks, token{end, len(s), len(s)})
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func isName(s string) bool   { return s != end && isLetter(s[0]) }
func isNumber(s string) bool { return s != end && isDigit(s[0]) }

func (p *parser) peek() *token { return &p.toks[p.at] }

// ahead is the text of the token n after the current one.
func (p *parser) ahead(n int) string {
	if p.at+n >= len(p.toks) {
		return end
	}
	return p.toks[p.at+n].text
}

func (p *parser) next() *token {
	t := p.peek()
	if t.text != end {
		p.at++
	}
	return t
}

// accept takes a token if it is the next.
func (p *parser) accept(text string) bool {
	if p.peek().text != text {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.fail("%s where %q is expected; put one there, or correct it", p.shown(), text)
	}
}

// shown is the current token in a message.
func (p *parser) shown() string {
	if p.peek().text == end {
		return "the end of the file"
	}
	return fmt.Sprintf("%q", clip(p.peek().text))
}

// clip shortens what a stranger may have made long.
func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
