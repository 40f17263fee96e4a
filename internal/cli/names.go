package cli

import (
	"cmp"
	"fmt"
	"slices"

	"kpsim/internal/nearest"
)

// longestList is how many bytes of names an error may list, so that it is still a line.
const longestList = 100

// Known returns an error, with the nearest names, unless names has name; what is the kind
// of thing, as "mutant".
func Known(what, name string, names []string) error {
	if slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("no %s is called %q; %s", what, name, Suggest(name, names))
}

// Optional is Known for a flag that may be empty.
func Optional(flag, what, name string, names []string) error {
	if name == "" {
		return nil
	}
	if err := Known(what, name, names); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// Suggest returns the names that may have been meant, or else all of them, or the command
// that prints them if the list is long.
func Suggest(name string, names []string) string {
	all := "there are " + List(names)
	if len(all) > longestList {
		all = fmt.Sprintf("%s list prints the %d that there are", Typed(), len(names))
	}
	return cmp.Or(nearest.DidYouMean(name, names), all)
}
