package scenario

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"kpsim/sim"
)

// The built-in scenarios and the object files that they, and others, may name.
//
//go:embed library/*.star library/*.o
var library embed.FS

const libraryDir = "library/"

// BuiltinNames lists the built-in scenarios in alphabetical order.
func BuiltinNames() []string {
	entries, err := library.ReadDir(strings.TrimSuffix(libraryDir, "/"))
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

// BuiltinSource returns the program of a built-in scenario as it was written.
func BuiltinSource(name string) ([]byte, error) {
	src, err := library.ReadFile(libraryDir + name + ".star")
	if err != nil {
		return nil, fmt.Errorf("no built-in scenario %q; %s", name, near(name, BuiltinNames()))
	}
	return src, nil
}

// LoadBuiltin loads a built-in scenario.
func LoadBuiltin(name string) (*Scenario, error) {
	src, err := BuiltinSource(name)
	if err != nil {
		return nil, err
	}
	return Load(name+".star", src, OpenBuiltin)
}

// OpenBuiltin reads an object file of the library: victim.o and its like.
func OpenBuiltin(file string) ([]byte, error) { return library.ReadFile(libraryDir + file) }

// Builtin loads them all.
func Builtin() []*Scenario {
	var all []*Scenario
	for _, name := range BuiltinNames() {
		s, err := LoadBuiltin(name)
		if err != nil {
			sim.Bug("built-in scenario: %v", err)
		}
		all = append(all, s)
	}
	return all
}
