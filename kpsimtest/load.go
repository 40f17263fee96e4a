package kpsimtest

import (
	"fmt"
	"strings"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/rig"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/kprobes/mutants"
	"kpsim/kpsimtest/build"
	"kpsim/sched"
	"kpsim/smp"
)

func init() {
	inputs.InCode()
	cli.CallAs("kpsim")
}

// A TB is what fails: a *testing.T, B or F, or a *rapid.T.
type TB interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Failed() bool
}

// A Scenario is what is searched: the name of a file that ends in .star, relative to the package's folder, the name of
// a built-in scenario, the Starlark text itself, or one that package build has made.
type Scenario interface{ ~string | *build.Scenario }

// draws reports whether t is one of many tries, as a *rapid.T is.
func draws(t TB) bool {
	_, is := t.(interface{ TempDir() string }) // of each in package testing
	return !is
}

// begin loads a scenario and checks what can be checked before the search. It ends the test if something is wrong
// with the scenario or an option.
func begin[S Scenario](t TB, source S, options []Option) (*inputs.Input, *config) {
	t.Helper()
	c, err := newConfig(options)
	if err != nil {
		t.Fatalf("%v", err)
	}
	in, err := load(t.Name(), source)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := prepare(in, c); err != nil {
		t.Fatalf("%v", err)
	}
	return in, c
}

// load loads a scenario: a text is one if it has a parenthesis, and otherwise a name.
func load[S Scenario](test string, source S) (*inputs.Input, error) {
	in := new(inputs.Input)
	var err error
	switch x := any(source).(type) {
	case *build.Scenario:
		if in.Scenario, err = x.Scenario(); err == nil {
			in.Arg = in.Name
		}
	default:
		text, file := fmt.Sprint(x), inputs.TraceName(test)+".star"
		if !strings.Contains(text, "(") {
			return named(text)
		}
		if in, err = inputs.Program(lang.LoadUsed, file, file, []byte(text), inputs.Beside(".")); err == nil {
			in.Source = "" // it is in no file
		}
	}
	if err != nil {
		return nil, err
	}
	if err := in.Expect.CheckNames(inputs.PropertyNames(), mutants.Known()); err != nil {
		return nil, err
	}
	return in, nil
}

func named(name string) (*inputs.Input, error) {
	list, err := inputs.Load([]string{name})
	if err != nil {
		return nil, err
	}
	if len(list) > 1 {
		return nil, fmt.Errorf("%s is a family of %d scenarios; name one, as %s", name, len(list), list[0].Name)
	}
	return list[0], nil
}

// prepare applies the options to a scenario and runs its default schedule, which
// shows whether it can be run and whether anything is probed.
func prepare(in *inputs.Input, c *config) error {
	if c.fetch != "" {
		if err := in.SetFetch(c.fetch); err != nil {
			return err
		}
	}
	if c.memory != "" {
		if err := in.SetMemory(c.memory); err != nil {
			return fmt.Errorf("Memory: %w", err)
		}
	}
	if c.edition != "" {
		if err := in.SetEdition(c.edition); err != nil {
			return fmt.Errorf("Edition: %s: %w", in.Name, err)
		}
	}
	r, err := rig.New(in.Scenario, c.mutant)
	if err != nil {
		return in.FileFirst(err)
	}
	defer r.Close()
	if run := r.Run(new(sched.Default)); run.Outcome == smp.Refused {
		return fmt.Errorf("%s: %w", in.Name, run.Err)
	}
	return in.RefusedAlways(r.Census.Probed())
}
