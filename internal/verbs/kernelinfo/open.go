package kernelinfo

import (
	"errors"
	"fmt"
	"io/fs"

	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/linux"
	"kpsim/linux/boot"
	"kpsim/linux/closure"
	"kpsim/linux/vmlinux"
)

// An opened is the kernel that a command describes.
type opened struct {
	im    *vmlinux.Image // including objects laid over it
	k     *linux.Kernel  // nil: it can't be opened whole
	stops error          // why kpsim can't run it; nil: it can
}

// bootCPUs is the number of CPUs on which a kernel's engine is started as a check.
const bootCPUs = 2

// open opens a kernel, and tries to start its engine.
func open(file cli.FileName, objects []cli.FileName) (*opened, error) {
	file = kernels.Path(file)
	var over []string
	for _, o := range objects {
		over = append(over, string(o))
	}
	k, stops := linux.Open(string(file), over...)
	if stops == nil {
		_, stops = boot.Kernel(k, bootCPUs)
		return &opened{k.Image, k, stops}, nil
	}
	if len(objects) > 0 {
		return nil, cause(stops, "")
	}
	im, err := image(file) // linux.Open may have left its image half done
	if err != nil {
		return nil, err
	}
	return &opened{im, nil, stops}, nil
}

// image opens a kernel's file, or the kernel of a release on this computer, without running it.
func image(file cli.FileName) (*vmlinux.Image, error) {
	im, err := vmlinux.Open(string(kernels.Path(file)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w%s", cause(err, string(file)), kernels.OnShelf(file))
	}
	return im, cause(err, string(file))
}

// cause words an error about a file. Errors of package vmlinux already name the file.
func cause(err error, file string) error {
	if p := new(fs.PathError); errors.As(err, &p) {
		if file == "" {
			file = p.Path
		}
		return errors.New(cli.Cause(err, file))
	}
	return err
}

// A setInfo describes a set.
type setInfo struct {
	Set          string   `json:"set"`
	Does         string   `json:"does"`
	Runs         bool     `json:"runs"`          // kpsim can run it from this kernel
	Why          string   `json:"why,omitempty"` // why it can't
	Functions    int      `json:"functions"`
	Instructions int      `json:"instructions"`
	Boundary     int      `json:"boundary"`
	Unserved     []callee `json:"unserved"`
	Missing      []string `json:"missing"` // functions that other kernels of its series have
	Refused      []place  `json:"refused"` // instructions that the simulator doesn't execute

	c *closure.Closure
}

type callee struct {
	Name    string   `json:"name"`
	Callers []string `json:"callers"` // functions and offsets

	// what it would add if it ran as compiled; given where it isn't served
	Cost *closure.Cost `json:"as_code,omitempty"`
}

type place struct {
	At   string `json:"at"`
	What string `json:"what"`
}

// sets computes the closure of each set.
func (o *opened) sets() ([]setInfo, error) {
	var out []setInfo
	for _, name := range closure.Top() {
		s, err := o.set(name)
		if err != nil {
			return nil, err
		}
		out = append(out, *s)
	}
	return out, nil
}

func (o *opened) set(name string) (*setInfo, error) {
	rows, err := closure.Named(name)
	if err != nil {
		return nil, err
	}
	c, err := closure.Of(o.im, name)
	if err != nil {
		return nil, err
	}
	s := &setInfo{Set: name, Does: rows[0].Says, Functions: len(c.Inside), Boundary: len(c.Boundary),
		Unserved: []callee{}, Missing: []string{}, Refused: []place{}, c: c}
	own := 0
	for i := range c.Inside {
		s.Instructions += c.Inside[i].Insns
		if c.Inside[i].Set == name {
			own++
		}
	}
	for _, u := range c.Unserved(linux.Served) {
		cost := c.Cost(u, linux.Served)
		s.Unserved = append(s.Unserved, callee{u.Name, sites(u.Callers), &cost})
	}
	for _, m := range c.Missing() {
		s.Missing = append(s.Missing, m.Name)
	}
	for _, x := range c.Special {
		if x.Refused {
			s.Refused = append(s.Refused, place{site(x), x.Text})
		}
	}
	switch {
	case own == 0:
		s.Why = "this kernel has none of its functions"
	case o.stops != nil:
		s.Why = o.stops.Error()
	case o.k.Lacks(name) != "":
		s.Why = o.k.Lacks(name) + ", without which it can't be run; the other sets are"
	default:
		s.Runs = true
	}
	return s, nil
}

func site(s closure.Site) string { return fmt.Sprintf("%s+%#x", s.Func, s.Off) }

func sites(all []closure.Site) (out []string) {
	for _, s := range all {
		out = append(out, site(s))
	}
	return out
}
