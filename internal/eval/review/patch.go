package review

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"kpsim/internal/edits"
	"kpsim/internal/patches"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/linux/compile"
)

// readPatches reads the patches of --patch.
func (c *Review) readPatches() ([]*patches.Patch, error) {
	text, err := cli.ReadFile(string(c.Patch), patches.Most)
	if err != nil {
		return nil, fmt.Errorf("--patch: %s", cli.Cause(err, string(c.Patch)))
	}
	list, err := patches.Read(text)
	if err != nil {
		return nil, fmt.Errorf("--patch: %s: %w", c.Patch, err)
	}
	return list, nil
}

// compiles reports whether the patches are to be applied and compiled: nothing else says what is changed.
func (c *Review) compiles() bool {
	return c.Patch != "" && len(c.Objects) == 0 && c.Before == "" && len(c.BeforeObjects) == 0 && c.BeforeProgram == ""
}

// compile applies the patches to a copy of the source, and compiles what changes. What the compiler says of a file
// that it refuses goes to standard error.
func (c *Review) compile(p *cli.Program) error {
	if c.Kernel.Kernel == "" {
		return fmt.Errorf("--kernel: none is given; give the kernel that the patch is for: %s", cli.Line(cli.Typed(),
			"review", "--kernel", "vmlinuz", "--patch", string(c.Patch)))
	}
	list, err := c.readPatches()
	if err != nil {
		return err
	}
	base := kernels.Kernel{Kernel: c.Kernel.Kernel}
	k, err := base.Open()
	if err != nil {
		return err
	}
	c.Kernel.Kernel = base.Kernel
	if c.edit, err = edits.Of(k.Image.Release, string(c.Source)); err != nil {
		if p := new(fs.PathError); errors.As(err, &p) {
			return fmt.Errorf("--source: %s", cli.Cause(err, string(c.Source)))
		}
		return fmt.Errorf("--source: %w", err)
	}
	if err := c.edit.Apply(list, c.Patch.Base()); err != nil {
		return fmt.Errorf("--patch: %s: %w", c.Patch, err)
	}
	line := p.Watch("compile", 1, "set")
	defer line.Clear()
	line.Note(strings.Join(pathsOf(c.edit.Changed()), ", "))
	ctx, end := cli.Until(&c.stop)
	defer end()
	objects, err := c.edit.Objects(ctx)
	line.Clear()
	if f := new(compile.Failed); errors.As(err, &f) {
		fmt.Fprint(p.Err, f.Says)
		return fmt.Errorf("--patch: %s doesn't compile for %s: %s; mend it, or give another --source", c.Patch,
			k.Image.Release, f)
	}
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return err
		}
		return fmt.Errorf("--patch: %s: %w", c.Patch, err)
	}
	for _, o := range objects {
		c.Kernel.Objects = append(c.Kernel.Objects, cli.FileName(o))
	}
	return nil
}

func pathsOf(files []*patches.File) (list []string) {
	for _, f := range files {
		list = append(list, f.Name)
	}
	return list
}

// applied says how the patches were applied, where that isn't as they say.
func (r *found) applied() (says []string) {
	e := r.c.edit
	if e == nil {
		return nil
	}
	if e.Patches() > 1 {
		says = append(says, fmt.Sprintf("%d patches were applied.", e.Patches()))
	}
	if len(e.Moved) > 0 {
		says = append(says, "Not at its place: "+strings.Join(e.Moved, "; ")+".")
	}
	if len(e.Left) > 0 {
		says = append(says, "Left out: "+strings.Join(e.Left, "; ")+".")
	}
	return says
}
