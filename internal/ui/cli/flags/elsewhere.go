package flags

import (
	"strings"

	"github.com/alecthomas/kong"

	"kpsim/internal/nearest"
	"kpsim/internal/ui/cli"
)

// mostMeant is the maximum number of commands that a message suggests.
const mostMeant = 3

// commandLike suggests commands for an unknown word: those with a similar name; otherwise those
// of that name under another command, those whose help contains the word, or those with a similar
// name under another command. It returns "" if there are none.
func commandLike(word string, at *kong.Node) string {
	if hint := nearest.DidYouMean(word, commandNames(at)); hint != "" {
		return hint
	}
	var same, told, below []string
	leaves(root(at), func(n *kong.Node) {
		switch {
		case n.Parent == root(at):
		case n.Name == word:
			same = append(same, n.Path())
		case len(nearest.Names(word, []string{n.Name})) > 0:
			below = append(below, n.Path())
		}
	})
	for _, n := range root(at).Children {
		if !n.Hidden && says(n.Help, word) {
			told = append(told, n.Name)
		}
	}
	for _, list := range [][]string{same, told, below} {
		if len(list) > 0 {
			return "did you mean " + nearest.Quoted(list[:min(len(list), mostMeant)]) + "?"
		}
	}
	return ""
}

// flagOfOthers names the other commands that have a flag; "" if none has.
func flagOfOthers(name string, at *kong.Node) string {
	var list []string
	leaves(at, func(n *kong.Node) {
		if f := flagOf(n, name); f != nil && !f.Hidden {
			list = append(list, strings.TrimSpace(n.Path()))
		}
	})
	switch {
	case len(list) == 0:
		return ""
	case len(list) > mostMeant:
		list = append(list[:mostMeant], "others")
	}
	return "it is a flag of " + cli.List(list)
}

func root(at *kong.Node) *kong.Node {
	for at.Parent != nil {
		at = at.Parent
	}
	return at
}

// leaves calls f for each runnable command.
func leaves(at *kong.Node, f func(*kong.Node)) {
	if at.Leaf() && !at.Hidden {
		f(at)
	}
	for _, n := range at.Children {
		leaves(n, f)
	}
}

// says reports whether a help text contains a word in any form: "traces" for "trace", "proved"
// for "prove".
func says(help, word string) bool {
	word = stem(word)
	for _, w := range strings.FieldsFunc(help, func(r rune) bool {
		return (r|0x20 < 'a' || r|0x20 > 'z') &&
			r != '-'
	}) {
		if len(word) >= 3 && stem(w) == word {
			return true
		}
	}
	return false
}

// stem returns a word in lower case without its inflected ending.
func stem(w string) string {
	w = strings.ToLower(w)
	for _, end := range []string{"ing", "ed", "es", "er", "e", "s"} {
		if s, ok := strings.CutSuffix(w, end); ok && len(s) >= 3 {
			return s
		}
	}
	return w
}
