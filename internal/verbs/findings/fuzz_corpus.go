package findings

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/gen"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/fuzz"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs/drawable"
	"kpsim/kprobes/mutants"
	"kpsim/smp/arch/target"
)

const (
	recipeFile = ".recipe"   // the ending of a recipe file's name
	nextFile   = "next.seed" // in a corpus: the seed of the next fresh program
	recipeMost = 64 << 10    // size limit of a recipe's file, in bytes
	corpusMost = 1 << 16     // the largest number of recipes in a corpus
)

// drawnFrom holds the flags of what programs are derived from.
type drawnFrom struct {
	Arch    string   `placeholder:"NAME" help:"Machines of one processor: ${processors}. Default: x86-64, and i386 now and then."`
	Without []string `placeholder:"SCENARIO,…" help:"Derive no program from these built-in scenarios, nor from a recipe of one: what they show must be drawn. May be given many times."`
	Fresh   bool     `help:"Draw each program by itself; make none from others."`
}

// check returns an error if a scenario doesn't exist.
func (d *drawnFrom) check() error {
	for _, name := range d.Without {
		if !slices.Contains(library.Names(), name) {
			return fmt.Errorf("--without: %w", cli.Known("built-in scenario", name, library.Names()))
		}
	}
	return nil
}

// readRecipe reads a recipe's file.
func readRecipe(path string) (gen.Recipe, error) {
	b, err := cli.ReadFile(path, recipeMost)
	if err != nil {
		return gen.Recipe{}, err
	}
	r, err := gen.ReadRecipe(b)
	if err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// resume makes the session begin with the recipes in the corpus's folder, or with the one
// given recipe.
func (c *Fuzz) resume() error {
	if c.Recipe != "" {
		r, err := readRecipe(string(c.Recipe))
		if err != nil {
			return err
		}
		c.session.Again(r)
		c.Programs = 1
	}
	list, next, err := c.corpus()
	if err != nil {
		return err
	}
	c.session.Again(list...)
	c.session.Next = next
	return nil
}

// corpus reads the recipes in the corpus's folder, and the seed of the next fresh program.
func (c *Fuzz) corpus() (list []gen.Recipe, next uint64, err error) {
	if c.Corpus == "" {
		return nil, gen.First(c.Seed), nil
	}
	if err := cli.MakeFolder(c.Corpus); err != nil {
		return nil, 0, err
	}
	files, err := os.ReadDir(c.Corpus)
	if err != nil {
		return nil, 0, fmt.Errorf("--corpus: %s", cli.Cause(err, c.Corpus))
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), recipeFile) {
			continue
		}
		if len(list) == corpusMost {
			return nil, 0, fmt.Errorf("--corpus: %s has more than %d recipes; remove some, or give another folder",
				c.Corpus, corpusMost)
		}
		r, err := readRecipe(filepath.Join(c.Corpus, f.Name()))
		if err != nil {
			return nil, 0, err
		}
		list = append(list, r)
	}
	r, err := readRecipe(filepath.Join(c.Corpus, nextFile))
	switch {
	case err == nil:
		return list, r.Seed, nil
	case os.IsNotExist(err):
		return list, gen.First(c.Seed), nil
	}
	return nil, 0, err
}

// keep writes new recipes of the corpus to its folder.
func (c *Fuzz) keep(list []*fuzz.Program) error {
	if c.Corpus == "" || len(list) == 0 {
		return nil
	}
	write := func(name string, r *gen.Recipe) error {
		path := filepath.Join(c.Corpus, name)
		if err := cli.WriteWhole(path, r.Marshal()); err != nil {
			return fmt.Errorf("--corpus: %s", cli.Cause(err, path))
		}
		return nil
	}
	for _, p := range list {
		if p.Kept {
			if err := write(fmt.Sprintf("%016x%s", p.Recipe.Hash(), recipeFile), &p.Recipe); err != nil {
				return err
			}
		}
	}
	return write(nextFile, &gen.Recipe{Seed: c.session.Next})
}

// machines returns the machines that programs are drawn for; nil: any.
func (c *Fuzz) machines() (list []scenario.Machine, err error) {
	if err := drawable.OptionalEdition(c.Edition); err != nil {
		return nil, err
	}
	if err := cli.Optional("--preempt", "model of preemption", c.Preempt, drawable.Preempts()); err != nil {
		return nil, err
	}
	if err := cli.Optional("--arch", "processor", c.Arch, drawable.Processors()); err != nil {
		return nil, err
	}
	if c.Edition == "" && c.Preempt == "" && c.Arch == "" && !c.AsShipped {
		return nil, nil
	}
	processor := target.Processor(max(slices.Index(target.Words, c.Arch), 0))
	for _, m := range gen.MachinesOf(processor) {
		if (c.Edition == "" || c.Edition == m.Edition.String()) &&
			(c.Preempt == "" || c.Preempt == m.Preempt.String()) {
			if err = nil; c.AsShipped {
				err = mutants.CheckShipped(m.Edition)
			}
			if err == nil {
				list = append(list, m)
			}
		}
	}
	switch {
	case list == nil && err != nil:
		return nil, fmt.Errorf("--as-shipped: %w", err)
	case list == nil:
		return nil, fmt.Errorf("--edition %q --preempt %q: no kernel of that edition had that on %v; leave one of "+
			"them "+
			"out", c.Edition, c.Preempt, processor)
	}
	return list, nil
}
