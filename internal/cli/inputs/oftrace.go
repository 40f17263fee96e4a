package inputs

import (
	"fmt"

	"kpsim/internal/cli"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/linux"
	"kpsim/traces"
)

// TracesKernel says where the kernel of a trace is.
type TracesKernel struct {
	Kernel  cli.FileName   `placeholder:"FILE" help:"The kernel that the trace is of. Default: the file that scripts/fetch-kernel has put in its folder. Another one is refused."`
	Objects []cli.FileName `placeholder:"FILE,…" help:"With --kernel: the object files that the trace was found with."`
}

// Read reads a trace, and opens its kernel if one is given.
func (f *TracesKernel) Read(path string) (*traces.File, error) {
	file, err := ReadTrace(path)
	if err != nil {
		return nil, err
	}
	flags := Kernel{Kernel: f.Kernel, Objects: f.Objects}
	k, err := flags.Open()
	if err != nil || k == nil {
		return file, err
	}
	s, err := lang.Parse(path, []byte(file.Scenario))
	switch {
	case err != nil:
		return nil, err
	case s.Machine.Engine != linux.Row.Name:
		return nil, fmt.Errorf("--kernel: %s is of kpsim's own engine, and needs none; to run its scenario on a kernel: %s", path,
			cli.Line(append([]string{cli.Typed(), "explore", s.Name}, flags.Words()...)...))
	case s.Machine.Image != "" && s.Machine.Image != k.ID():
		return nil, fmt.Errorf("--kernel: %s is of the kernel %s, and %s is %s; give the file that it was", path, s.Machine.Image, f.Kernel, k.ID())
	}
	return file, nil
}

// Line is the line of another command about the trace, with the flags as they were typed.
func (f *TracesKernel) Line(words ...string) string {
	flags := Kernel{Kernel: f.Kernel, Objects: f.Objects}
	return cli.Line(append(append([]string{cli.Typed()}, words...), flags.Words()...)...)
}

// Anew are the flags by which the kernel of a trace's scenario is explored: as they were
// typed, or else its file, which was found. None if it is of kpsim's own engine.
func (f *TracesKernel) Anew(m *scenario.Machine) []string {
	if m.Engine != linux.Row.Name {
		return nil
	}
	if f.Kernel != "" {
		return (&Kernel{Kernel: f.Kernel, Objects: f.Objects}).Words()
	}
	k, err := linux.Given(m.Image)
	if err != nil {
		return []string{"--kernel", "FILE"}
	}
	return []string{"--kernel", k.Image.Path}
}
