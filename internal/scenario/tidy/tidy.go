package tidy

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bazelbuild/buildtools/build"
	"go.starlark.net/syntax"

	"kpsim/internal/scenario/lang"
	"kpsim/sim"
	"kpsim/traces"
)

// Format returns a program or a trace in its usual form. An error is one line, "name:line:col: what is
// wrong; what to do".
func Format(name string, data []byte) ([]byte, error) {
	if !traces.IsTrace(data) {
		return program(name, data)
	}
	file, err := traces.Parse(name, data)
	if err != nil {
		return nil, err
	}
	if _, err := lang.ParseFrom(name, []byte(file.Scenario), file.ScenarioLine); err != nil {
		return nil, err
	}
	text, err := program(name, []byte(file.Scenario))
	if err != nil {
		return nil, err
	}
	file.Scenario = string(text)
	return file.Marshal(), nil
}

// program formats a program.
func program(name string, src []byte) ([]byte, error) {
	tree, err := lang.Syntax(name, src)
	if err != nil {
		return nil, err
	}
	hidden := hide(tree, src)
	file, err := build.ParseDefault(name, hidden.src)
	if err != nil {
		return nil, unread(name, err)
	}
	text := hidden.show(build.FormatWithoutRewriting(file))
	again, err := lang.Syntax(name, text)
	if err != nil {
		sim.Bug("%s: formatted it isn't read: %v", name, err)
	}
	if !slices.Equal(shape(tree), shape(again)) {
		sim.Bug("%s: formatted it is another program", name)
	}
	return text, nil
}

// unread is the error about what Starlark allows and buildifier doesn't.
func unread(name string, err error) error {
	var p build.ParseError
	if !errors.As(err, &p) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return fmt.Errorf("%s:%d:%d: buildifier's grammar, by which a program is formatted, hasn't this; indent with "+
		"blanks, and put tuples in brackets", name, p.Pos.Line, p.Pos.LineRune)
}

// hidden is a program whose strings of bytes, b"\x55", are names: buildifier doesn't know them.
type hidden struct {
	src   []byte
	names []string // what stands for each
	raw   []string // what it stands for
}

// hide hides the strings of bytes of a program.
func hide(tree *syntax.File, src []byte) hidden {
	var h hidden
	prefix := "bytes_"
	for bytes.Contains(src, []byte(prefix)) {
		prefix += "_"
	}
	lines := bytes.SplitAfter(src, []byte("\n"))
	begins := make([]int, len(lines))
	for i := 1; i < len(lines); i++ {
		begins[i] = begins[i-1] + len(lines[i-1])
	}
	at := make(map[int]*syntax.Literal) // by the byte where it begins
	syntax.Walk(tree, func(n syntax.Node) bool {
		if lit, ok := n.(*syntax.Literal); ok && lit.Token == syntax.BYTES {
			line := int(lit.TokenPos.Line) - 1
			at[begins[line]+columnBytes(lines[line], int(lit.TokenPos.Col)-1)] = lit
		}
		return true
	})
	var b []byte
	done := 0
	for _, from := range slices.Sorted(maps.Keys(at)) {
		name := fmt.Sprintf("%s%d_", prefix, len(h.raw))
		h.names, h.raw = append(h.names, name), append(h.raw, at[from].Raw)
		b = append(append(b, src[done:from]...), name...)
		done = from + len(at[from].Raw)
	}
	h.src = append(b, src[done:]...)
	return h
}

// columnBytes returns the bytes that n characters of a line have.
func columnBytes(line []byte, n int) (at int) {
	for ; n > 0; n-- {
		_, size := utf8.DecodeRune(line[at:])
		at += size
	}
	return at
}

// show puts the strings back.
func (h *hidden) show(text []byte) []byte {
	if len(h.raw) == 0 {
		return text
	}
	var pairs []string
	for i := range h.raw {
		pairs = append(pairs, h.names[i], h.raw[i])
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(text)))
}

// shape lists all that a syntax tree says, without its positions, comments and ways to write a string.
func shape(tree *syntax.File) (list []string) {
	syntax.Walk(tree, func(n syntax.Node) bool {
		says := fmt.Sprintf("%T", n)
		switch n := n.(type) {
		case nil:
			says = "end"
		case *syntax.Ident:
			says += n.Name
		case *syntax.Literal:
			says += fmt.Sprintf("%v %v", n.Token, n.Value)
		case *syntax.BinaryExpr:
			says += n.Op.String()
		case *syntax.UnaryExpr:
			says += n.Op.String()
		case *syntax.AssignStmt:
			says += n.Op.String()
		case *syntax.BranchStmt:
			says += n.Token.String()
		}
		list = append(list, says)
		return true
	})
	return list
}
