package flags

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"kpsim/internal/ui/cli/inputs"
)

// Unquoted returns a word without its shell quotes. The closing quote may be missing.
func Unquoted(word string) string {
	var b strings.Builder
	var quote rune
	escaped := false
	for _, c := range word {
		switch {
		case escaped:
			b.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped = true
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// Complete returns the possible completions of the last word. completions has the names of a flag's
// values (--name) and of arguments (<name>). bash passes --flag=value as three words.
func Complete(at *kong.Node, words []string, completions map[string]Names) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	if len(words) > 1 && words[0] == "help" { // as in "help explore"
		words = words[1:]
	}
	var waiting *kong.Flag // a flag without its value yet
	given := 0             // number of positional arguments
	for i, w := range words[:len(words)-1] {
		switch {
		case w == "=" && i > 0 && waiting != nil:
		case waiting != nil:
			waiting = nil
		case strings.HasPrefix(w, "-"):
			name, _, whole := strings.Cut(w, "=")
			if f := flagOf(at, name); f != nil && !f.IsBool() && !whole {
				waiting = f
			}
		default:
			if n := child(at, w); n != nil {
				at = n
			} else {
				given++
			}
		}
	}

	last := words[len(words)-1]
	name, value, whole := strings.Cut(last, "=")
	switch {
	case waiting != nil:
		return StartingWith(strings.TrimPrefix(last, "="),
			ValuesOf(completions, waiting.Value, strings.TrimPrefix(last, "=")))
	case strings.HasPrefix(last, "-") && whole:
		var list []string
		if f := flagOf(at, name); f != nil {
			for _, v := range StartingWith(value, ValuesOf(completions, f.Value, value)) {
				list = append(list, name+"="+v)
			}
		}
		return list
	case strings.HasPrefix(last, "-"):
		return StartingWith(last, flagNames(at))
	}
	list := commandNames(at)
	if n := len(at.Positional); n > 0 { // the last one may take all further arguments
		list = ValuesOf(completions, at.Positional[min(given, n-1)], last)
		if given >= n && !at.Positional[n-1].IsCumulative() {
			list = nil
		}
	} else if given > 0 {
		list = nil
	}
	return StartingWith(last, list)
}

func child(at *kong.Node, name string) *kong.Node {
	i := slices.IndexFunc(at.Children, func(n *kong.Node) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return at.Children[i]
}

func flagOf(at *kong.Node, name string) *kong.Flag {
	for _, f := range all(at) {
		if "--"+f.Name == name || f.Short != 0 && "-"+string(f.Short) == name {
			return f
		}
	}
	return nil
}

func StartingWith(with string, words []string) (list []string) {
	for _, w := range words {
		if strings.HasPrefix(w, with) {
			list = append(list, w)
		}
	}
	return list
}

// A Names returns all names of one kind. begun is the part already typed, which only files need.
type Names func(begun string) []string

func ValuesOf(completions map[string]Names, v *kong.Value, begun string) []string {
	name := "<" + v.Name + ">"
	if v.Flag != nil {
		name = "--" + v.Flag.Name
		switch v.Flag.PlaceHolder {
		case "FILE", "FILE,…", "PAGE":
			return Files("")(begun)
		case "DIR":
			return Files("/")(begun)
		}
	}
	n := completions[name]
	if v.Flag != nil && completions[name+"="+v.Flag.PlaceHolder] != nil {
		n = completions[name+"="+v.Flag.PlaceHolder]
	}
	switch {
	case v.Enum != "":
		return strings.Split(v.Enum, ",")
	case n != nil:
		return n(begun)
	}
	return nil
}

func Fixed(names func() []string) Names { return func(string) []string { return names() } }

func Either(a, b Names) Names {
	return func(begun string) []string { return append(a(begun), b(begun)...) }
}

func Files(ends ...string) Names {
	return func(begun string) []string { return inputs.FilesLike(begun, ends...) }
}
