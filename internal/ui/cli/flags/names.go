package flags

import (
	"github.com/alecthomas/kong"
)

// all returns the flags of a command, including those of its default subcommand.
func all(at *kong.Node) (all []*kong.Flag) {
	for _, group := range at.AllFlags(true) {
		all = append(all, group...)
	}
	if at.DefaultCmd != nil {
		all = append(all, at.DefaultCmd.Flags...)
	}
	return all
}

func flagNames(at *kong.Node) (names []string) {
	for _, f := range all(at) {
		names = append(names, "--"+f.Name)
	}
	return names
}

// commandNames returns the commands that may be typed here. With a default subcommand these are
// the others.
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
