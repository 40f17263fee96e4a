package shell

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"kpsim/engine"
)

// The files of kprobes, under the names that the kernel's documentation uses.

const sysctlName = "kprobes-optimization"

// files returns the files that the machine's edition has.
func (h *machine) files() []engine.File { return h.Rig.Engine().Files() }

// file returns the file at a path; the base name alone is enough.
func (h *machine) file(at string) (engine.File, error) {
	files := h.files()
	i := slices.IndexFunc(files, func(f engine.File) bool { return f.Path() == path.Clean(at) || f.Name == at })
	if i >= 0 {
		return files[i], nil
	}
	var names []string
	for _, f := range files {
		if f.Dir == path.Clean(at) {
			return engine.File{}, fmt.Errorf("%s: is a directory; ls %s lists it", at, at)
		}
		names = append(names, f.Path())
	}
	return engine.File{}, fmt.Errorf("%s: no such file; there are %s", at, strings.Join(names, ", "))
}

func (h *sh) cat(args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	f, err := h.s.file(args[0])
	if err != nil {
		return err
	}
	fmt.Fprint(h.p.Out, f.Read())
	return nil
}

func (h *sh) echo(args []string) error {
	i := slices.Index(args, ">")
	if i < 0 || i != len(args)-2 {
		return errUsage
	}
	f, err := h.s.file(args[i+1])
	if err != nil {
		return err
	}
	value := strings.Join(args[:i], " ")
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		value = value[1 : n-1]
	}
	_, err = h.write(f, value+"\n")
	return err
}

// write writes to a file as a task would. An errno is printed in the words of a Unix shell.
func (h *sh) write(f engine.File, s string) (ok bool, err error) {
	if f.Write == nil {
		fmt.Fprintf(h.p.Out, "sh: can't create %s: Permission denied\n", f.Path())
		return false, nil
	}
	refused, err := h.s.WriteFile(0, &f, s)
	if err != nil {
		return false, err
	}
	if refused != nil {
		fmt.Fprintln(h.p.Out, "sh: write error: Invalid argument")
	}
	return refused == nil, nil
}

func (h *sh) ls(args []string) error {
	long := len(args) > 0 && args[0] == "-l"
	if long {
		args = args[1:]
	}
	if len(args) > 1 {
		return errUsage
	}
	all := len(args) == 0
	files := h.s.files()
	slices.SortFunc(files, func(a, b engine.File) int { return strings.Compare(a.Name, b.Name) })
	n := 0
	for _, f := range files {
		name := f.Name
		if all {
			name = f.Path()
		} else if f.Dir != path.Clean(args[0]) {
			continue
		}
		if n++; long {
			name = f.Mode + " " + name
		}
		fmt.Fprintln(h.p.Out, name)
	}
	if n == 0 && !all {
		_, err := h.s.file(args[0])
		return err
	}
	return nil
}

// sysctl reads or writes kprobes-optimization by its sysctl(8) name. The kernel's documentation
// writes kprobes_optimization, and n for 0, which no kernel accepts: both work here, with a
// remark.
func (h *sh) sysctl(args []string) error {
	write := len(args) > 0 && args[0] == "-w"
	if write {
		args = args[1:]
	}
	if len(args) != 1 {
		return errUsage
	}
	name, value, assigns := strings.Cut(args[0], "=")
	if write && !assigns {
		return errUsage
	}
	const known = "debug." + sysctlName
	if strings.ReplaceAll(name, "_", "-") != known {
		return fmt.Errorf("%s: no such name; there is %s", name, known)
	}
	f, err := h.s.file("/proc/sys/debug/" + sysctlName)
	if err != nil {
		return fmt.Errorf("%s: this machine is built without CONFIG_OPTPROBES", name)
	}
	if !assigns {
		fmt.Fprintf(h.p.Out, "%s = %s", known, f.Read())
		return nil
	}
	meant := map[string]string{"n": "0", "y": "1"}[value]
	switch {
	case meant != "":
		fmt.Fprintf(h.p.Out, "(kernels take 0 and 1: %s=%s)\n", known, meant)
		value = meant
	case name != known:
		fmt.Fprintf(h.p.Out, "(kernels call it %s)\n", known)
	}
	ok, err := h.write(f, value+"\n")
	if ok {
		fmt.Fprintf(h.p.Out, "%s = %s\n", known, value)
	}
	return err
}
