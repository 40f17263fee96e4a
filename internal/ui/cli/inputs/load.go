package inputs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/ui/cli"
	"kpsim/kprobes/mutants"
	"kpsim/traces"
)

// ReadTrace reads a trace file. Its property must be in the catalogue, or none.
func ReadTrace(path string) (*traces.File, error) {
	data, err := givenTrace(path)
	if err != nil {
		return nil, err
	}
	file, err := traces.Parse(path, data)
	if err != nil {
		return nil, err
	}
	if _, ok := PropertyByID(file.Property); !ok && file.Property != traces.NoProperty {
		all := append(propertyIDs(), PropertyNames()...)
		hint := cmp.Or(nearest.DidYouMean(file.Property, all), cli.Typed()+" list prints those that there are")
		return nil, fmt.Errorf("%s: section verdict: there is no property %q; %s", path, file.Property, hint)
	}
	return file, nil
}

// FileFirst prefixes an error about the scenario with the position in its file.
func (j *Input) FileFirst(err error) error {
	switch {
	case j.Arg == j.Name:
		return err
	case j.locate != nil:
		return j.locate(err)
	}
	return fmt.Errorf("%s: %w", j.Arg, err)
}

// An Input is a scenario named on the command line.
type Input struct {
	*scenario.Scenario
	Arg    string // its name on the command line
	Source string // checksum of its program; "" if not known

	Objects []string // base names of the objects laid over its kernel

	locate func(err error) error // nil: the positions of its parts aren't known
	line   func(p scenario.Part) int
}

// A ScenarioReader parses a scenario's program.
type ScenarioReader = func(name string, src []byte, open func(file string) ([]byte, error)) (*scenario.Scenario, error)

// ByHand reads a scenario that is stepped by hand. It may have unused probes, which the user may
// register.
var ByHand ScenarioReader = lang.Load

// Load loads the named scenarios, or all built-in ones, for a search.
func Load(args []string) ([]*Input, error) { return LoadBy(lang.LoadUsed, args) }

func LoadBy(read ScenarioReader, args []string) ([]*Input, error) {
	if len(args) == 0 {
		args = library.Names()
	}
	var jobs []*Input
	for _, arg := range families(args) {
		in, err := loadSource(read, arg)
		if err != nil {
			return nil, err
		}
		s := in.Scenario
		if err := s.Expect.CheckNames(PropertyNames(), mutants.Known()); err != nil {
			return nil, in.FileFirst(fmt.Errorf("%w; see %s list", err, cli.Typed()))
		}
		for _, j := range jobs {
			switch {
			case j.Arg == arg:
				return nil, fmt.Errorf("%s is given twice; leave one out", arg)
			case TraceName(j.Name) == TraceName(s.Name):
				return nil, fmt.Errorf("%s and %s are both the scenario %s, whose trace is one file; leave one "+
					"out, or rename it with scenario(%q)",
					j.Arg, arg, s.Name, s.Name+"-2")
			}
		}
		jobs = append(jobs, in)
	}
	return jobs, nil
}

// families replaces a family by its members: register-storm stands for register-storm-none and
// register-storm-full, unless it names a scenario itself.
func families(args []string) (list []string) {
	builtin := library.Names()
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

// One loads one scenario: a built-in one, otherwise a file.
func One(read ScenarioReader, arg string) (*scenario.Scenario, error) {
	in, err := loadSource(read, arg)
	if err != nil {
		return nil, err
	}
	return in.Scenario, nil
}

// loadSource loads one scenario and the checksum of its program.
func loadSource(read ScenarioReader, arg string) (*Input, error) {
	name, open := arg, Beside(arg)
	src, err := library.Source(arg)
	if err == nil {
		read, name, open = lang.Load, arg+".star", library.Open
	} else if src, err = givenScenario(arg); err != nil {
		return nil, err
	}
	return Program(read, arg, name, src, open)
}

// Program loads one scenario from its program, which arg names on the command line or in a test; name is that of its
// file in messages.
func Program(read ScenarioReader, arg, name string, src []byte, open func(file string) ([]byte, error)) (*Input,
	error) {
	var sum checksum
	sum.see(src)
	s, err := read(name, src, sum.opening(open))
	if err != nil {
		return nil, err
	}
	locate := func(err error) error { return lang.Locate(name, src, open, err) }
	line := func(p scenario.Part) int { return lang.Where(name, src, open, p) }
	return &Input{Scenario: s, Arg: arg, Source: sum.String(), locate: locate, line: line}, nil
}

// Beside opens the object files that a scenario names: relative to its folder, otherwise the
// library's, so that a built-in scenario may be copied and changed.
func Beside(file string) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		path := name
		if !filepath.IsAbs(name) {
			path = filepath.Join(filepath.Dir(file), name)
		}
		data, err := cli.ReadFile(path, cli.MostObject)
		if errors.Is(err, fs.ErrNotExist) {
			if data, err := library.Open(name); err == nil {
				return data, nil
			}
		}
		if err != nil {
			return nil, errors.New(cli.Cause(err, path))
		}
		return data, nil
	}
}

// TraceName returns a scenario's name as a file name.
func TraceName(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.', r == '+':
			return r
		}
		return '-'
	}, name)
	if clean = strings.TrimLeft(clean, ".-"); clean == "" { // neither a hidden file nor a flag
		return "scenario"
	}
	return clean
}
