package source

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"kpsim/internal/regular"
	"kpsim/linux"
	"kpsim/linux/vmlinux"
	"kpsim/linux/vmlinux/shelf"
	"kpsim/smp/arch"
)

// A Source knows the lines of one kernel. It must be used by one goroutine.
type Source struct {
	k      *linux.Kernel
	code   []vmlinux.Section // the kernel's code
	lines  *vmlinux.Lines    // from the same build; nil: not available
	dir    string            // folder of the kernel's source; "": not available
	files  map[string][]string
	known  map[arch.Addr][]vmlinux.Frame
	jumped map[[2]string]bool // results of jumps, by the two functions
}

// Of returns a kernel's source, with the text of its lines from a folder. For "" it uses the
// source beside an object laid over the kernel, unless that is newer than the object; for a
// kernel without objects, the source of its release on the shelf.
func Of(k *linux.Kernel, dir string) *Source {
	s := &Source{k: k, dir: dir, files: make(map[string][]string), known: make(map[arch.Addr][]vmlinux.Frame),
		jumped: make(map[[2]string]bool)}
	for _, sec := range k.Image.Sections() {
		if sec.Exec {
			s.code = append(s.code, sec)
		}
	}
	if l, err := k.Image.Lines(); err == nil && l != nil {
		s.lines = l
		return s
	}
	for _, path := range []string{filepath.Join(filepath.Dir(k.Image.Path), "vmlinux"),
		shelf.Of(k.Image.Release, "vmlinux")} {
		if path == "" {
			continue
		}
		// otherwise the file is missing, or from another build
		if l, err := vmlinux.OpenLines(path, k.Image.BuildID); err == nil {
			s.lines = l
			break
		}
	}
	return s
}

// Kernel returns the kernel of the source.
func (s *Source) Kernel() *linux.Kernel { return s.k }

// frames returns the functions that an instruction belongs to, innermost first.
func (s *Source) frames(a arch.Addr) []vmlinux.Frame {
	f, ok := s.known[a]
	if !ok {
		f = s.k.Image.LineIn(s.lines, uint64(a))
		s.known[a] = f
	}
	return f
}

// Line returns the file and line of an instruction, "kernel/kprobes.c:620"; "" if unknown.
func (s *Source) Line(a arch.Addr) string {
	f := s.frames(a)
	if len(f) == 0 || f[0].Line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", f[0].File, f[0].Line)
}

// Place returns the file and line of an instruction, with the line's text if available.
func (s *Source) Place(a arch.Addr) string {
	says := s.Line(a)
	if says == "" {
		return ""
	}
	f := s.frames(a)[0]
	if t := s.Text(f.File, f.Line); t != "" {
		says += ": " + t
	}
	return says
}

// Says describes the place of an instruction of the kernel: its line, and the callers that its
// function is inlined into; "" if unknown.
func (s *Source) Says(a arch.Addr) string {
	f := s.frames(a)
	if len(f) == 0 || f[0].Line == 0 {
		return ""
	}
	says := fmt.Sprintf("%s:%d", f[0].File, f[0].Line)
	if len(f) > 1 {
		says = f[0].Func + ", " + says
	}
	for _, caller := range f[1:] {
		says += fmt.Sprintf(", inlined in %s at line %d", caller.Func, caller.Line)
	}
	if t := s.Text(f[0].File, f[0].Line); t != "" {
		says += ": " + t
	}
	return says
}

// Frames returns the functions that an instruction belongs to, innermost first, with file and
// line where known.
func (s *Source) Frames(a arch.Addr) []vmlinux.Frame {
	if f := s.frames(a); len(f) > 0 {
		return f
	}
	return []vmlinux.Frame{{Func: s.Functions(a)[0]}}
}

// Beginning returns the lines that begin at an instruction without code of their own: the
// compiler merged them into the instruction's line.
func (s *Source) Beginning(a arch.Addr) []vmlinux.Frame {
	return s.k.Image.BeginningIn(s.lines, uint64(a))
}

// Functions names the functions that an instruction belongs to, from the compiled one to the
// innermost inlined one.
func (s *Source) Functions(a arch.Addr) (names []string) {
	f := s.frames(a)
	if len(f) == 0 || f[len(f)-1].Func == "" {
		name, _, _ := s.k.Symbol(a)
		return []string{plain(name)}
	}
	for i := len(f) - 1; i >= 0; i-- {
		names = append(names, f[i].Func)
	}
	return names
}

// plain returns a function's name without the compiler's suffix.
func plain(name string) string {
	name, _, _ = strings.Cut(name, ".")
	return name
}

// textMost is the maximum size of a source file, in bytes.
const textMost = 8 << 20

// Text returns a line of the source; "" if it isn't available.
func (s *Source) Text(file string, line int) string {
	if list := s.file(file); line >= 1 && line <= len(list) {
		return strings.TrimSpace(list[line-1])
	}
	return ""
}

// aroundMost is the maximum length of a line that Around returns.
const aroundMost = 160

// Around returns a line of the source with near lines before and after it, each cut if it is
// long, and the number of the first; none if the source isn't available.
func (s *Source) Around(file string, line, near int) (from int, text []string) {
	list := s.file(file)
	if line < 1 || line > len(list) {
		return 0, nil
	}
	from = max(1, line-near)
	for _, l := range list[from-1 : min(line+near, len(list))] {
		l = strings.TrimRight(l, " \t\r")
		if r := []rune(l); len(r) > aroundMost {
			l = string(r[:aroundMost-1]) + "…"
		}
		text = append(text, l)
	}
	return from, text
}

// file returns the lines of a file of the source.
func (s *Source) file(name string) []string {
	if !filepath.IsLocal(name) {
		return nil
	}
	list, ok := s.files[name]
	if !ok {
		if path := s.path(name); path != "" {
			if f, _, err := regular.Open(path); err == nil { // an unreadable file isn't shown
				data, err := io.ReadAll(io.LimitReader(f, textMost+1))
				f.Close()
				if err == nil && len(data) <= textMost {
					list = strings.Split(string(data), "\n")
				}
			}
		}
		s.files[name] = list
	}
	return list
}

// path returns the path of a source file; "" if unknown.
func (s *Source) path(name string) string {
	switch {
	case s.dir != "":
		return filepath.Join(s.dir, name)
	case len(s.k.Objects) == 0:
		if dir := shelf.Of(s.k.Image.Release, "source"); dir != "" {
			return filepath.Join(dir, name)
		}
		return ""
	}
	object := strings.TrimSuffix(filepath.FromSlash(name), ".c") + ".o"
	for _, o := range s.k.Objects {
		root, ok := strings.CutSuffix(filepath.Clean(o), object)
		if path := filepath.Join(root, name); ok && (root == "" || os.IsPathSeparator(root[len(root)-1])) &&
			!newer(path, o) {
			return path
		}
	}
	return ""
}

// newer reports whether a file was changed after another one, or is missing.
func newer(file, than string) bool {
	a, err := os.Stat(file)
	if err != nil {
		return true
	}
	b, err := os.Stat(than)
	return err != nil || a.ModTime().After(b.ModTime())
}
