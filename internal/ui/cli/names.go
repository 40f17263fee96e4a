package cli

import (
	"cmp"
	"fmt"
	"slices"

	"kpsim/internal/nearest"
)

// longestList is the maximum length of the names in an error, in bytes, so that it stays one
// line.
const longestList = 100

// Known returns an error with the nearest names unless name is in names. what is the kind of
// thing, such as "mutant".
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

// Suggest returns the similar names; if there are none, all names, or for a long list the command
// that prints them.
func Suggest(name string, names []string) string {
	all := "there are " + List(names)
	if len(all) > longestList {
		all = fmt.Sprintf("%s list prints the %d that there are", Typed(), len(names))
	}
	return cmp.Or(nearest.DidYouMean(name, names), all)
}
