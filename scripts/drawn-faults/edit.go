package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// rewrite returns a file with faults in it, each guarded by its number. No two may clash. Lines keep their numbers.
func rewrite(text []byte, of map[int]*Fault) []byte {
	type one struct {
		edit
		n    int
		size int // of the text that its fault encloses
	}
	var list []one
	for n, x := range of {
		for _, e := range x.edits {
			list = append(list, one{e, n, x.to - x.from})
		}
	}
	// At one place, edits that end there come first, the innermost first; then those that begin there, the outermost
	// first.
	slices.SortFunc(list, func(a, b one) int {
		switch {
		case a.at != b.at:
			return a.at - b.at
		case a.ends != b.ends && a.ends:
			return -1
		case a.ends != b.ends:
			return 1
		case a.size != b.size && a.ends:
			return a.size - b.size
		case a.size != b.size:
			return b.size - a.size
		}
		return a.n - b.n
	})
	var out bytes.Buffer
	at := 0
	for _, e := range list {
		out.Write(text[at:e.at])
		out.WriteString(strings.ReplaceAll(e.text, "$n", fmt.Sprint(e.n)))
		at = e.at + e.cut
	}
	out.Write(text[at:])
	if len(list) == 0 {
		return out.Bytes()
	}
	return imported(out.Bytes())
}

// imported adds the import of package on after the package clause.
func imported(text []byte) []byte {
	at := bytes.Index(text, []byte("\npackage ")) + 1
	end := at + bytes.IndexByte(text[at:], '\n')
	return slices.Concat(text[:end], []byte(`; import `+helper+` "kpsim/scripts/drawn-faults/on"`), text[end:])
}

// clash reports whether two faults can't be guarded in one file: they begin or end at
// one place, or overlap without one being in the other.
func clash(a, b *Fault) bool {
	if a.File != b.File || a.to < b.from || b.to < a.from {
		return false
	}
	for _, x := range a.edits {
		for _, y := range b.edits {
			if x.at == y.at {
				return true
			}
		}
	}
	inside := func(a, b *Fault) bool { return a.from >= b.from && a.to <= b.to }
	if a.Kind == argument || b.Kind == argument { // it repeats its text
		return true
	}
	if !inside(a, b) && !inside(b, a) {
		return true
	}
	// A fault inside another must not enclose one of its edits.
	for _, p := range [][2]*Fault{{a, b}, {b, a}} {
		if inside(p[0], p[1]) {
			for _, e := range p[1].edits {
				if e.at > p[0].from && e.at < p[0].to {
					return true
				}
			}
		}
	}
	return false
}
