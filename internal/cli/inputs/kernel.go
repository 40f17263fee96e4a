package inputs

import (
	"errors"

	"kpsim/internal/cli"
	"kpsim/linux"
)

// Kernel says whose engine is run, if not kpsim's own.
type Kernel struct {
	Kernel  cli.FileName   `placeholder:"FILE" help:"Run the kernel's own engine, instruction by instruction: a vmlinux, or a vmlinuz as distributions ship it. Instead of what the scenarios say of the engine; nothing is expected then."`
	Objects []cli.FileName `placeholder:"FILE,…" help:"With --kernel: object files, compiled for that kernel, whose functions take the place of its own."`

	opened *linux.Kernel
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
