package inputs

import (
	"errors"
	"fmt"
	"strings"

	"kpsim/internal/cli"
	"kpsim/linux"
)

// Kernel says whose engine is run, if not kpsim's own.
type Kernel struct {
	Kernel  cli.FileName   `placeholder:"FILE" help:"Run the kernel's own engine, instruction by instruction: a vmlinux, or a vmlinuz as distributions ship it. Instead of what the scenarios say of the engine; nothing is expected then."`
	Objects []cli.FileName `placeholder:"FILE,…" help:"With --kernel: object files, compiled for that kernel, whose functions take the place of its own."`

	opened *linux.Kernel
}

// Base is the last part of the kernel's file, "" if none was given.
func (f *Kernel) Base() string {
	if f.Kernel == "" {
		return ""
	}
	return f.Kernel.Base()
}

// List is the objects as they are typed.
func (f *Kernel) List() string {
	var words []string
	for _, o := range f.Objects {
		words = append(words, string(o))
	}
	return strings.Join(words, ",")
}

// Set makes a scenario run the kernel's engine, if one was given.
func (f *Kernel) Set(j *Input) error {
	k, err := f.Open()
	if err != nil || k == nil {
		return err
	}
	if err := j.SetLinux(k); err != nil {
		return fmt.Errorf("--kernel: %s: %w", j.Arg, err)
	}
	return nil
}

// Open opens the kernel, and makes it known to the scenarios that run it. It returns nil
// if none was given.
func (f *Kernel) Open() (*linux.Kernel, error) {
	if f.Kernel == "" {
		if len(f.Objects) > 0 {
			return nil, errors.New("--objects: they take the place of a kernel's functions; give the kernel with --kernel FILE")
		}
		return nil, nil
	}
	if f.opened != nil {
		return f.opened, nil
	}
	k, err := linux.Open(string(f.Kernel))
	if err != nil {
		return nil, err
	}
	linux.Give(k)
	f.opened = k
	return k, nil
}
