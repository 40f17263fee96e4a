package kernels

import (
	"fmt"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/linux"
	"kpsim/linux/vmlinux/shelf"
	"kpsim/traces"
)

// TracesKernel holds the flags that locate the kernel of a trace.
type TracesKernel struct {
	Kernel  cli.FileName   `placeholder:"FILE" help:"The trace's kernel. Default: the file that scripts/fetch-kernel has put in its folder. Any other kernel is refused."`
	Objects []cli.FileName `placeholder:"FILE,…" help:"The object files, laid over the kernel, that the trace was found with."`
}

// Read reads a trace, and opens its kernel if one is given.
func (f *TracesKernel) Read(path string) (*traces.File, error) {
	file, err := inputs.ReadTrace(path)
	if err != nil {
		return nil, err
	}
	flags := Kernel{Kernel: f.Kernel, Objects: f.Objects}
	if flags.Kernel == "" && len(flags.Objects) == 0 {
		return file, nil
	}
	s, err := lang.ParseFrom(path, []byte(file.Scenario), file.ScenarioLine)
	switch {
	case err != nil:
		return nil, err
	case !s.Machine.Guest():
		flag := "--kernel"
		if flags.Kernel == "" {
			flag = "--objects"
		}
		return nil, fmt.Errorf("%s: %s is of kpsim's own engine, and needs none; to run its scenario on a kernel: %s",
			flag, path,
			cli.Line(append([]string{cli.Typed(), "explore", s.Name}, flags.Words()...)...))
	case flags.Kernel == "": // the kernel that the objects lie over
		release := s.Machine.Release()
		flags.Kernel = cli.FileName(shelf.Of(release, "vmlinuz"))
	}
	k, err := flags.Open()
	switch {
	case err != nil:
		return nil, err
	case s.Machine.Image == "" || s.Machine.Image == k.ID():
		return file, nil
	case f.Kernel == "":
		return nil, fmt.Errorf("--objects: %s is of the kernel %s, and %s with %s is %s; give the objects that "+
			"it was found with", path, s.Machine.Image, flags.Kernel, flags.List(), k.ID())
	}
	return nil, fmt.Errorf("--kernel: %s is of the kernel %s, and %s is %s; give the file that it was", path,
		s.Machine.Image, f.Kernel, k.ID())
}

// Line returns another command's line about the trace, with these flags as typed.
func (f *TracesKernel) Line(words ...string) string {
	flags := Kernel{Kernel: f.Kernel, Objects: f.Objects}
	return cli.Line(append(append([]string{cli.Typed()}, words...), flags.Words()...)...)
}

// Anew returns the flags that select the kernel of a trace's scenario for explore: as typed,
// otherwise with the file that was found. There are none for kpsim's own engine.
func (f *TracesKernel) Anew(m *scenario.Machine) []string {
	if !m.Guest() {
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

// TellEdited prints that a trace's scenario has changed since, after the output about the trace.
func TellEdited(p *cli.Program, path string, file *traces.File) {
	if name := inputs.Edited(path, file); name != "" {
		s, _ := lang.ParseFrom(path, []byte(file.Scenario), file.ScenarioLine) // can't fail: Edited parsed it too
		again := append([]string{cli.Typed(), "explore", name}, new(TracesKernel).Anew(&s.Machine)...)
		fmt.Fprintf(p.Err, "kpsim: %s shows an earlier version of %s than is there now; to explore the one "+
			"of now:  %s\n", path, name, cli.Line(again...))
	}
}
