package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"kpsim/internal/search"
	"kpsim/kprobes"
)

// The files of kprobes, as the documents name them.

// A probeFile is one of them.
type probeFile struct {
	dir, name string
	mode      string
	read      func(e *kprobes.Engine) string
	write     func(s *search.Session, cpu int, value string) (refused, err error) // nil: read only
}

func (f *probeFile) path() string { return path.Join(f.dir, f.name) }

const sysctlName = "kprobes-optimization"

// files are those that there are in the machine's edition.
func (h *sh) files() []probeFile {
	e := h.s.Rig.Engine()
	debugfs := "/sys/kernel/debug/kprobes"
	if !e.HasBlacklist() {
		debugfs = "/debug/kprobes" // as the document of 2.6 has it
	}
	list := []probeFile{
		{dir: debugfs, name: "enabled", mode: "-rw-------", read: (*kprobes.Engine).ReadEnabled,
			write: (*search.Session).WriteEnabled},
		{dir: debugfs, name: "list", mode: "-r--------", read: func(e *kprobes.Engine) string { return string(e.List(nil)) }},
	}
	if e.HasBlacklist() {
		list = append(list, probeFile{dir: debugfs, name: "blacklist", mode: "-r--------", read: func(e *kprobes.Engine) string { return string(e.Blacklist(nil)) }})
	}
	if e.HasOptimization() {
		list = append(list, probeFile{dir: "/proc/sys/debug", name: sysctlName, mode: "-rw-r--r--", read: (*kprobes.Engine).ReadOptimization,
			write: (*search.Session).WriteOptimization})
	}
	return list
}

// file returns the file at a path, of which its name will do.
func (h *sh) file(at string) (probeFile, error) {
	files := h.files()
	i := slices.IndexFunc(files, func(f probeFile) bool { return f.path() == path.Clean(at) || f.name == at })
	if i >= 0 {
		return files[i], nil
	}
	var names []string
	for _, f := range files {
		if f.dir == path.Clean(at) {
			return probeFile{}, fmt.Errorf("%s: is a directory; ls %s lists it", at, at)
		}
		names = append(names, f.path())
	}
	return probeFile{}, fmt.Errorf("%s: no such file; there are %s", at, strings.Join(names, ", "))
}

func (h *sh) cat(args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	f, err := h.file(args[0])
	if err != nil {
		return err
	}
	fmt.Fprint(h.p.Out, f.read(h.s.Rig.Engine()))
	return nil
}

func (h *sh) echo(args []string) error {
	i := slices.Index(args, ">")
	if i < 0 || i != len(args)-2 {
		return errUsage
	}
	f, err := h.file(args[i+1])
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

// write writes to a file as a task would, and prints what the shell says to an
// errno.
func (h *sh) write(f probeFile, s string) (ok bool, err error) {
	if f.write == nil {
		fmt.Fprintf(h.p.Out, "sh: can't create %s: Permission denied\n", f.path())
		return false, nil
	}
	refused, err := f.write(h.s, 0, s)
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
	files := h.files()
	slices.SortFunc(files, func(a, b probeFile) int { return strings.Compare(a.name, b.name) })
	n := 0
	for _, f := range files {
		name := f.name
		if all {
			name = f.path()
		} else if f.dir != path.Clean(args[0]) {
			continue
		}
		if n++; long {
			name = f.mode + " " + name
		}
		fmt.Fprintln(h.p.Out, name)
	}
	if n == 0 {
		_, err := h.file(args[0])
		return err
	}
	return nil
}

// sysctl reads or writes kprobes-optimization by the name that sysctl(8) gives it.
// The documents write kprobes_optimization, and n for 0, which kernels don't know:
// it does what they mean, and says so.
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
	f, err := h.file("/proc/sys/debug/" + sysctlName)
	if err != nil {
		return fmt.Errorf("%s: this machine is built without CONFIG_OPTPROBES", name)
	}
	if !assigns {
		fmt.Fprintf(h.p.Out, "%s = %s", known, f.read(h.s.Rig.Engine()))
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
