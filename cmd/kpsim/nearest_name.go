package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"kpsim/internal/cli"
)

// optionalEdition is knownEdition for --edition, of which "" is none.
func optionalEdition(name string) error {
	if name == "" {
		return nil
	}
	if err := knownEdition(name, stormNames(0)); err != nil {
		return fmt.Errorf("--edition: %w", err)
	}
	return nil
}

// knownEdition is known for an edition. Who gives the version of his kernel is told of which
// documents it lies between.
func knownEdition(name string, names []string) error {
	err := cli.Known("edition", name, names)
	if around := between(name, names); err != nil && around != "" {
		return fmt.Errorf("no edition is called %q; %s; %s editions prints what each sets", name, around, cli.Typed())
	}
	return err
}

// between says where a kernel's version lies among the editions that are named by one, oldest
// first. It returns "" for what is no version.
func between(name string, names []string) string {
	v, ok := version(name)
	if !ok {
		return ""
	}
	var older, newer string
	for _, n := range names {
		switch e, ok := version(n); {
		case !ok:
		case slices.Compare(e[:], v[:]) <= 0:
			older = n
		case newer == "":
			newer = n
		}
	}
	switch {
	case older == "":
		return "the oldest is " + newer
	case newer == "":
		return "the newest is " + older
	}
	return fmt.Sprintf("those about that kernel are %s and %s", older, newer)
}

// version reads the first two numbers of a kernel's version: 6.1 of v6.1.192-amd64.
func version(name string) (v [2]int, ok bool) {
	n, _ := fmt.Sscanf(strings.TrimPrefix(name, "v"), "%d.%d", &v[0], &v[1])
	return v, n > 0
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
