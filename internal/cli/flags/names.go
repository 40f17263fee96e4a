package flags

import (
	"github.com/alecthomas/kong"
)

// all are those that a command takes, be they of what it does by itself.
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
