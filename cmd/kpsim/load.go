package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/internal/cli"
	"kpsim/internal/scenario"
	"kpsim/internal/search"
	"kpsim/kprobes/mutants"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp/fetch"
)

// A job is a scenario to explore.
type job struct {
	*scenario.Scenario
	arg    string // what it was called on the command line
	source string // the checksum of its program; "" if that isn't known
	runs   uint64
	usual  uint64   // how many there are without --runs
	digest uint64   // of the default run
	notes  []string // what that has shown
	blind  string   // why the canary can't be found, "" if it may be

	checked uint64           // how many runs were played again and came out the same
	result  *search.Explored // for the result file
	older   []older          // traces that lie where it would have written some
}

// A scenarioReader makes a scenario of a program.
type scenarioReader = func(name string, src []byte, open func(file string) ([]byte, error)) (*scenario.Scenario, error)

// byHand reads a scenario whose probes somebody may register who steps it.
var byHand scenarioReader = scenario.Load

// load loads the scenarios that the arguments name, or all built-in ones, to search them.
func load(args []string) ([]*job, error) { return loadBy(scenario.LoadUsed, args) }

func loadBy(read scenarioReader, args []string) ([]*job, error) {
	if len(args) == 0 {
		args = scenario.BuiltinNames()
	}
	var jobs []*job
	for _, arg := range families(args) {
		s, source, err := loadSource(read, arg)
		if err != nil {
			return nil, err
		}
		if err := s.Expect.CheckNames(propertyNames(), mutants.Names()); err != nil {
			return nil, fmt.Errorf("%s: %w; see %s list", arg, err, cli.Typed())
		}
		for _, j := range jobs {
			switch {
			case j.arg == arg:
				return nil, fmt.Errorf("%s is given twice; leave one out", arg)
			case traceName(j.Name) == traceName(s.Name):
				return nil, fmt.Errorf("%s and %s are both the scenario %s, whose trace is one file; leave one out, or rename it with scenario(%q)",
					j.arg, arg, s.Name, s.Name+"-2")
			}
		}
		jobs = append(jobs, &job{Scenario: s, arg: arg, source: source})
	}
	return jobs, nil
}

// families puts the members in the place of a family: register-storm stands for
// register-storm-none and register-storm-full, if nothing has just that name.
func families(args []string) (list []string) {
	builtin := scenario.BuiltinNames()
	for _, arg := range args {
		n := len(list)
		if _, err := os.Stat(arg); err != nil && !slices.Contains(builtin, arg) {
			for _, name := range builtin {
				if strings.HasPrefix(name, arg+"-") {
					list = append(list, name)
				}
			}
		}
		if len(list) == n {
			list = append(list, arg)
		}
	}
	return list
}

// loadOne loads one scenario: a built-in one, or else a file.
func loadOne(read scenarioReader, arg string) (*scenario.Scenario, error) {
	s, _, err := loadSource(read, arg)
	return s, err
}

// loadSource is loadOne, with the checksum of the program.
func loadSource(read scenarioReader, arg string) (*scenario.Scenario, string, error) {
	name, open := arg, beside(arg)
	src, err := scenario.BuiltinSource(arg)
	if err == nil {
		read, name, open = scenario.Load, arg+".star", scenario.OpenBuiltin
	} else if src, err = givenScenario(arg); err != nil {
		return nil, "", err
	}
	var sum checksum
	sum.see(src)
	s, err := read(name, src, sum.opening(open))
	return s, sum.String(), err
}

// beside opens the object files that a scenario names: relative to its folder,
// or else the library's, so that a built-in scenario may be copied and changed.
func beside(file string) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		path := name
		if !filepath.IsAbs(name) {
			path = filepath.Join(filepath.Dir(file), name)
		}
		data, err := cli.ReadFile(path, cli.MostObject)
		if errors.Is(err, fs.ErrNotExist) {
			if data, err := scenario.OpenBuiltin(name); err == nil {
				return data, nil
			}
		}
		if err != nil {
			return nil, errors.New(cli.Cause(err, path))
		}
		return data, nil
	}
}

func propertyNames() []string {
	var names []string
	for _, p := range properties.All {
		names = append(names, p.Name)
	}
	return names
}

func strategyNames() []string {
	var names []string
	for _, s := range sched.All {
		names = append(names, s.Name)
	}
	return names
}

func fetchNames() []string {
	var names []string
	for m := fetch.Coherent; m <= fetch.Mixing; m++ {
		names = append(names, m.String())
	}
	return names
}

// traceName is a scenario's name as that of a file.
func traceName(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.', r == '+':
			return r
		}
		return '-'
	}, name)
	if clean = strings.TrimLeft(clean, ".-"); clean == "" { // no hidden file, no flag
		return "scenario"
	}
	return clean
}
