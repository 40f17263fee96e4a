package nearest

import (
	"fmt"
	"strings"
)

// Word returns the word that a number stands for.
func Word(words []string, n uint8) string {
	if int(n) >= len(words) {
		return fmt.Sprintf("%d?", n)
	}
	return words[n]
}

// Lookup finds the value that a word stands for; what is the setting, for the message.
func Lookup[T ~uint8](what, got string, words []string) (T, error) {
	for i, w := range words {
		if w == got {
			return T(i), nil
		}
	}
	return 0, Unknown(what, got, words)
}

// Unknown says that a setting has no such value, and which it has.
func Unknown(what, got string, words []string) error {
	return fmt.Errorf("%s = %q isn't known; it is one of %s", what, got, Quoted(words))
}

// Quoted lists words in quotes, with commas between them.
func Quoted(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", w)
	}
	return b.String()
}

// OrAll ends a message about an unknown name with the names that are like it,
// or else with all names.
func OrAll(name string, names []string) string {
	const most = 5
	switch hint := DidYouMean(name, names); {
	case hint != "":
		return hint
	case len(names) == 0:
		return "there is none"
	case len(names) > most:
		return fmt.Sprintf("there are %s and %d more", Quoted(names[:most]), len(names)-most)
	}
	return "there is " + Quoted(names)
}
