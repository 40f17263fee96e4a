package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"kpsim/smp/image"
)

// longestList is how many bytes of names an error may list, so that it is still a line.
const longestList = 100

// known checks that there is a what ("mutant") of that name. Its error suggests the nearest
// names.
func known(what, name string, names []string) error {
	if slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("no %s is called %q; %s", what, name, suggest(name, names))
}

// optional is known for a flag, of which "" is none.
func optional(flag, what, name string, names []string) error {
	if name == "" {
		return nil
	}
	if err := known(what, name, names); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// suggest says which of the names may have been meant, or else all of them, or where
// they are printed if that is too long.
func suggest(name string, names []string) string {
	all := "there are " + list(names)
	if len(all) > longestList {
		all = fmt.Sprintf("%s list prints the %d that there are", typed(), len(names))
	}
	return cmp.Or(image.DidYouMean(name, names), all)
}

// misspelt says what kong found wrong with a command line, with the command or flag that may
// have been meant, or the help to read.
func misspelt(err error) string {
	says, _, _ := strings.Cut(err.Error(), ", did you mean")
	if strings.HasPrefix(says, "expected one of ") {
		says = "a command is missing, as explore"
	}
	var parse *kong.ParseError
	if !errors.As(err, &parse) {
		return says
	}
	at := parse.Context.Model.Node
	for _, p := range parse.Context.Path {
		at = cmp.Or(p.Command, at)
	}
	var hint string
	if name, ok := strings.CutPrefix(says, "unknown flag "); ok {
		hint = image.DidYouMean(name, flagNames(at))
	} else if name, ok := strings.CutPrefix(says, "unexpected argument "); ok {
		hint = image.DidYouMean(name, commandNames(at))
	}
	return says + "; " + cmp.Or(hint, fmt.Sprintf("see %s --help", strings.TrimSpace(typed()+" "+strings.TrimPrefix(at.Path(), "kpsim"))))
}

// flags are those that a command takes, be they of what it does by itself.
func flags(at *kong.Node) (all []*kong.Flag) {
	for _, group := range at.AllFlags(true) {
		all = append(all, group...)
	}
	if at.DefaultCmd != nil {
		all = append(all, at.DefaultCmd.Flags...)
	}
	return all
}

func flagNames(at *kong.Node) (names []string) {
	for _, f := range flags(at) {
		names = append(names, "--"+f.Name)
	}
	return names
}

// commandNames are the commands that may be typed here. Beside what a command does by itself
// they are the others.
func commandNames(at *kong.Node) (names []string) {
	if at.Parent != nil && at.Parent.DefaultCmd == at {
		at = at.Parent
	}
	for _, n := range at.Children {
		if !n.Hidden {
			names = append(names, n.Name)
		}
	}
	return names
}
