package kernels

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/linux"
	"kpsim/linux/vmlinux/shelf"
)

// Kernel holds the flags that select a kernel's engine instead of kpsim's own.
type Kernel struct {
	Kernel  cli.FileName   `placeholder:"FILE" help:"Run the kernel's own engine, instruction by instruction: a vmlinux, or a vmlinuz as distributions ship it, or the release of one that scripts/fetch-kernel put on this computer. It replaces the scenarios' engine settings; nothing is expected then."`
	Objects []cli.FileName `placeholder:"FILE,…" help:"With --kernel: object files, compiled for that kernel, whose functions replace its own."`

	opened *linux.Kernel
}

// Base returns the base name of the kernel's file; "" if none was given.
func (f *Kernel) Base() string {
	if f.Kernel == "" {
		return ""
	}
	return f.Kernel.Base()
}

// List returns the objects as typed.
func (f *Kernel) List() string {
	var words []string
	for _, o := range f.Objects {
		words = append(words, string(o))
	}
	return strings.Join(words, ",")
}

// Words returns the flags as typed.
func (f *Kernel) Words() (words []string) {
	if f.Kernel != "" {
		words = append(words, "--kernel", string(f.Kernel))
	}
	if len(f.Objects) > 0 {
		words = append(words, "--objects", f.List())
	}
	return words
}

// Line returns another command's line with these flags as typed.
func (f *Kernel) Line(words ...string) string {
	return cli.Line(append(append([]string{cli.Typed()}, words...), f.Words()...)...)
}

// Alone refuses options of kpsim's own engine together with a kernel.
func (f *Kernel) Alone(edition, mutant string) error {
	switch {
	case f.Kernel == "":
		return nil
	case edition != "":
		return errors.New("--edition: it is of kpsim's own engine, and a kernel's can't be changed; leave it or " +
			"--kernel out")
	case mutant != "" && !inputs.OfMachineCode(mutant):
		return fmt.Errorf("--mutant: %s breaks kpsim's own engine, not a kernel's; of a kernel: %s", mutant,
			cli.Line(cli.Typed(), "kernel", "mutants", cli.AsFile(string(f.Kernel))))
	}
	return nil
}

// Set makes a scenario run the kernel's engine, if a kernel was given.
func (f *Kernel) Set(j *inputs.Input) error {
	k, err := f.Open()
	if err != nil || k == nil {
		return err
	}
	if err := onlinux.Set(j.Scenario, k); err != nil {
		return fmt.Errorf("%s: %w", j.Arg, err)
	}
	f.Laid(j)
	return nil
}

// Unchanged returns a scenario on the kernel without the objects and without a mutant; nil if there are neither.
func (f *Kernel) Unchanged(sc *scenario.Scenario, mutant string) (*scenario.Scenario, error) {
	k := f.opened
	if len(f.Objects) > 0 {
		var err error
		if k, err = linux.Open(string(f.Kernel)); err != nil {
			return nil, err
		}
		linux.Give(k)
		linux.Give(f.opened) // the one given last is the one that a scenario means
	} else if mutant == "" {
		return nil, nil
	}
	base := *sc
	base.Machine.Engine, base.Machine.Image = "", ""
	return &base, onlinux.Set(&base, k)
}

// Laid records which objects lie over the scenario's kernel, for its traces.
func (f *Kernel) Laid(j *inputs.Input) {
	j.Objects = nil
	for _, o := range f.Objects {
		j.Objects = append(j.Objects, o.Base())
	}
}

// Path returns the file that a word names: the word itself, or the kernel of that release on this computer.
func Path(word cli.FileName) cli.FileName {
	if path := shelf.Kernel(string(word)); path != "" && !inputs.IsFile(string(word)) {
		return cli.FileName(path)
	}
	return word
}

// OnShelf completes the message that there is no file of a name: which releases are on this computer that are spelt
// like it or, if it is a number as a release is, which there are.
func OnShelf(word cli.FileName) string {
	var releases []string
	for _, path := range shelf.Files("vmlinuz") {
		releases = append(releases, filepath.Base(filepath.Dir(path)))
	}
	near := nearest.Names(word.Base(), releases)
	switch {
	case len(near) > 0:
		return "; did you mean " + cli.List(near) + "?"
	case word == "" || word[0] < '0' || word[0] > '9' || word.Base() != string(word):
		return ""
	case len(releases) == 0:
		return "; in " + shelf.Folder() + ", where scripts/fetch-kernel puts kernels, is no release"
	}
	return "; of releases, " + shelf.Folder() + " has " + cli.List(releases)
}

// Open opens the kernel and registers it for scenarios. It returns nil if no kernel was given.
func (f *Kernel) Open() (*linux.Kernel, error) {
	if f.Kernel == "" {
		if len(f.Objects) > 0 {
			return nil, errors.New("--objects: they take the place of a kernel's functions; give the kernel " +
				"with --kernel FILE")
		}
		return nil, nil
	}
	return f.OpenAs("--kernel", "--objects")
}

// OpenAs is Open where flags of other names give the kernel and the objects. A kernel must be
// given.
func (f *Kernel) OpenAs(kernel, laid string) (*linux.Kernel, error) {
	if f.opened != nil {
		return f.opened, nil
	}
	f.Kernel = Path(f.Kernel)
	var objects []string
	for _, o := range f.Objects {
		objects = append(objects, string(o))
	}
	k, err := linux.Open(string(f.Kernel), objects...)
	if p := new(fs.PathError); errors.As(err, &p) {
		if slices.Contains(objects, p.Path) {
			return nil, fmt.Errorf("%s: %s", laid, cli.Cause(err, p.Path))
		}
		return nil, fmt.Errorf("%s: %s%s", kernel, cli.Cause(err, string(f.Kernel)), OnShelf(f.Kernel))
	}
	if err != nil {
		return nil, err
	}
	linux.Give(k)
	f.opened = k
	return k, nil
}
