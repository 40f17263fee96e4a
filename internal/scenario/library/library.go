package library

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/sim"
)

// The built-in scenarios and the object files that they, and others, may name.
//
//go:embed *.star *.o
var files embed.FS

// Names lists the built-in scenarios in alphabetical order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		sim.Bug("scenario library: %v", err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".star"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Source returns the program of a built-in scenario as it was written.
func Source(name string) ([]byte, error) {
	src, err := files.ReadFile(name + ".star")
	if err != nil {
		return nil, fmt.Errorf("no built-in scenario %q; %s", name, nearest.OrAll(name, Names()))
	}
	return src, nil
}

// Load loads a built-in scenario.
func Load(name string) (*scenario.Scenario, error) {
	src, err := Source(name)
	if err != nil {
		return nil, err
	}
	return lang.Load(name+".star", src, Open)
}

// Open reads an object file of the library: victim.o and its like.
func Open(file string) ([]byte, error) { return files.ReadFile(file) }

// All loads them all.
func All() []*scenario.Scenario {
	var all []*scenario.Scenario
	for _, name := range Names() {
		s, err := Load(name)
		if err != nil {
			sim.Bug("built-in scenario: %v", err)
		}
		all = append(all, s)
	}
	return all
}
