//go:build unix

package main

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/proctest"
	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/cli"
)

// written are the flags that name a file to write, each with a command line that writes it: the
// file is FILE.
var written = map[string]string{
	"explore --out":         "explore safe-none --runs 5 --traces T --out FILE",
	"fuzz --html":           "fuzz --runs 10 --each 5 --traces T --html FILE",
	"matrix --html":         "matrix jump/sched/breakpoint --drawn 8 --traces T --html FILE",
	"view --html":           "view TRACE --html FILE",
	"export --out":          "export --to json TRACE --out FILE",
	"shrink --out":          "shrink TRACE --out FILE",
	"check --html":          "check OBJECT --html FILE",
	"mutants --html":        "mutants no-sync-3 --seeds 1 --most 100 --html FILE",
	"overhead table --html": "overhead table --html FILE",
	"overhead price --html": "overhead price hook-unsynced --cpus 1,2 --runs 2 --html FILE",
	// it compares two kernels for as long as that takes; it writes by Program.WritePage as the others
	"review --html": "",
	"man --dir":     "", // a folder
}

// read are the flags and arguments that name a file to read: the file is FILE, and KERNEL one
// that is a kernel.
var read = map[string]string{
	"explore --kernel":            "explore safe-none --kernel FILE",
	"explore --objects":           "explore safe-none --kernel KERNEL --objects FILE",
	"fuzz --corpus":               "fuzz --runs 2 --corpus FILE",
	"fuzz --recipe":               "fuzz --runs 2 --recipe FILE",
	"fuzz --kernel":               "fuzz --runs 2 --kernel FILE",
	"fuzz --objects":              "fuzz --runs 2 --kernel KERNEL --objects FILE",
	"verify --kernel":             "verify safe-none --kernel FILE",
	"verify --objects":            "verify safe-none --kernel KERNEL --objects FILE",
	"small --kernel":              "small --calls 1 --kernel FILE",
	"small --objects":             "small --calls 1 --kernel KERNEL --objects FILE",
	"compare --kernel":            "compare --kernel FILE",
	"compare --objects":           "compare --kernel KERNEL --objects FILE",
	"review --kernel":             "review --kernel FILE --objects OBJECT",
	"review --objects":            "review --kernel KERNEL --objects FILE",
	"review --before":             "review --kernel KERNEL --before FILE",
	"review --before-objects":     "review --kernel KERNEL --before-objects FILE",
	"review --before-program":     "review --before-program FILE",
	"review --program":            "review --before-program FILE --program FILE",
	"review --patch":              "review --kernel KERNEL --objects OBJECT --patch FILE",
	"review --corpus":             "review --kernel KERNEL --objects OBJECT --corpus FILE",
	"bisect --kernel":             "bisect --kernel FILE --sets OBJECT",
	"bisect --patch":              "bisect --kernel KERNEL --patch FILE",
	"bisect --sets":               "bisect --kernel KERNEL --sets FILE",
	"bisect --witness":            "bisect --kernel KERNEL --sets OBJECT --witness FILE",
	"watch --kernel":              "watch --kernel FILE --objects OBJECT --saves 1",
	"matrix --from":               "matrix --from FILE",
	"run --kernel":                "run safe-none --kernel FILE",
	"run --objects":               "run safe-none --kernel KERNEL --objects FILE",
	"shell --kernel":              "shell safe-none --kernel FILE",
	"shell --objects":             "shell safe-none --kernel KERNEL --objects FILE",
	"replay --kernel":             "replay KTRACE --kernel FILE",
	"replay --objects":            "replay KTRACE --kernel KERNEL --objects FILE",
	"explain --kernel":            "explain KTRACE --kernel FILE",
	"explain --objects":           "explain KTRACE --kernel KERNEL --objects FILE",
	"view --kernel":               "view KTRACE --kernel FILE --html OUT",
	"view --objects":              "view KTRACE --kernel KERNEL --objects FILE --html OUT",
	"export --kernel":             "export --to json KTRACE --kernel FILE",
	"export --objects":            "export --to json KTRACE --kernel KERNEL --objects FILE",
	"shrink --kernel":             "shrink KTRACE --kernel FILE --out OUT",
	"shrink --objects":            "shrink KTRACE --kernel KERNEL --objects FILE --out OUT",
	"rerecord --kernel":           "rerecord KTRACE --kernel FILE",
	"rerecord --objects":          "rerecord KTRACE --kernel KERNEL --objects FILE",
	"kernel info <file>":          "kernel info FILE",
	"kernel info --objects":       "kernel info KERNEL --objects FILE",
	"kernel closure <file>":       "kernel closure FILE",
	"kernel mutants <file>":       "kernel mutants FILE",
	"kernel table <files>":        "kernel table FILE",
	"kernel runs <files>":         "kernel runs FILE",
	"overhead table --profile":    "overhead table --profile FILE",
	"overhead table --kernel":     "overhead table --kernel FILE",
	"overhead table --objects":    "overhead table --kernel KERNEL --objects FILE",
	"overhead table --noise-file": "overhead table --noise --noise-file FILE",
	"overhead pauses --profile":   "overhead pauses --profile FILE",
	"overhead probes --profile":   "overhead probes --profile FILE",
	"overhead price --profile":    "overhead price hook-unsynced --profile FILE",
	// A folder whose files are shown beside a kernel's trace; what can't be read isn't shown.
	"replay --source": "", "explain --source": "", "view --source": "",
	// Folders that patches are applied to; internal/patches tests what their files are.
	"review --source": "", "bisect --source": "", "watch --tree": "",
	// An object that can't be read is refused, and watched on: internal/eval/watch tests it.
	"watch --objects": "",

	// Arguments that are strings, since they may be names of what is built in.
	"explore": "explore FILE", "verify": "verify FILE", "run": "run FILE", "shell": "shell FILE",
	"compare": "compare --kernel KERNEL --objects OBJECT FILE",
	"review":  "review --kernel KERNEL --objects OBJECT FILE",
	"bisect":  "bisect --kernel KERNEL --sets OBJECT FILE",
	"watch":   "watch --kernel KERNEL --objects OBJECT --saves 1 FILE",
	"replay":  "replay FILE", "explain": "explain FILE", "view": "view FILE --html OUT",
	"view beside": "view TRACE FILE --html OUT",
	"export":      "export --to json FILE", "shrink": "shrink FILE --out OUT", "rerecord": "rerecord FILE",
	"fmt":    "fmt --check FILE",
	"merge":  "merge FILE",
	"litmus": "litmus FILE", "check": "check FILE", "disasm": "disasm FILE victim",
	"overhead calibrate": "overhead calibrate FILE", "overhead price": "overhead price FILE",
	"matrix --into": "matrix --into FILE jump/sched/breakpoint",
}

// Each flag that names a file is in one of the tables, so that the tests below try it.
func TestFileFlags(t *testing.T) {
	isFile := func(v *kong.Value) bool {
		kind := v.Target.Type()
		if kind.Kind() == reflect.Slice {
			kind = kind.Elem()
		}
		return kind == reflect.TypeFor[cli.FileName]()
	}
	var walk func(*kong.Node)
	walk = func(at *kong.Node) {
		path := strings.TrimSpace(at.Path())
		var found []string
		for _, f := range at.Flags {
			if isFile(f.Value) {
				found = append(found, path+" --"+f.Name)
			}
		}
		for _, p := range at.Positional {
			if isFile(p) {
				found = append(found, path+" "+p.Summary())
			}
		}
		for _, f := range found {
			f = strings.NewReplacer(" [<", " <", ">]", ">", " ...", "").Replace(f)
			_, writes := written[f]
			_, reads := read[f]
			require.True(t, writes != reads, "%s is in one of the tables written and read", f)
		}
		for _, c := range at.Children {
			walk(c)
		}
	}
	walk(newParser(verbs, io.Discard, io.Discard).Model.Node)
}

// fileTest runs the command lines of the tables in a folder.
type fileTest struct {
	t        *testing.T
	replacer func(file string) *strings.Replacer
	kernel   bool
	program  string
}

func newFileTest(t *testing.T) *fileTest {
	abs := func(path string) string {
		path, err := filepath.Abs(path)
		require.NoError(t, err)
		return path
	}
	trace, object := abs(corpusTrace), abs("../../internal/scenario/library/victim.o")
	kernelTrace, err := filepath.Glob(abs("../../traces/corpus/linux/*.kps"))
	require.NoError(t, err)
	kernelTrace = append(kernelTrace, trace)
	kernels := append(kerneltest.Files("6.12"), kerneltest.Files("6.1")...)
	program := thisProgram(t)
	t.Chdir(t.TempDir())
	return &fileTest{t: t, kernel: len(kernels) > 0, program: program, replacer: func(file string) *strings.Replacer {
		return strings.NewReplacer("KTRACE", kernelTrace[0], "TRACE", trace, "OBJECT", object, "FILE", file, "KERNEL",
			append(kernels, "none")[0], "OUT", "out", " T ", " traces ")
	}}
}

// run runs a line, which may not hang. One with a kernel is run by another process: this one
// would keep the kernel, and its children's memory is counted from its own.
func (f *fileTest) run(line, file string) (status int, stdout, stderr string) {
	f.t.Helper()
	var out, errs bytes.Buffer
	args := strings.Fields(f.replacer(file).Replace(line))
	done := make(chan int, 1)
	if strings.Contains(line, "KERNEL") || strings.Contains(line, "KTRACE") {
		cmd := exec.CommandContext(f.t.Context(), f.program, args...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		go func() {
			cmd.Run() // its status is what counts
			done <- cmd.ProcessState.ExitCode()
		}()
	} else {
		go func() { done <- run(args, &out, &errs) }()
	}
	select {
	case status = <-done:
	case <-time.After(60 * time.Second):
		f.t.Fatalf("%s hangs", line)
	}
	return status, out.String(), errs.String()
}

// sorted are the lines of a table.
func sorted(table map[string]string) (lines []string) {
	for _, line := range table {
		if line != "" {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// What isn't a file that can be read is refused with one line that names it, and isn't waited
// for: a pipe, a device, a socket.
func TestReadNoFile(t *testing.T) {
	f := newFileTest(t)
	require.NoError(t, syscall.Mkfifo("pipe", 0o600))
	l, err := net.Listen("unix", "socket")
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, os.Symlink("pipe", "link"))
	for i, line := range sorted(read) {
		files := []string{"pipe", "link", "socket", "/dev/zero"}
		if strings.Contains(line, "KERNEL") { // whose opening takes a second
			if !f.kernel {
				t.Log("no kernel is here, so this isn't tried: ", line)
				continue
			}
			if !thorough.Set() {
				if i%3 != 0 {
					continue // their flags are one type, kernels.Kernel
				}
				files = files[:1]
			}
		}
		for _, file := range files {
			status, _, stderr := f.run(line, file)
			require.Equal(t, cli.BadInput, status, "%s with %s: %s", line, file, stderr)
			require.Equal(t, 1, strings.Count(stderr, "\n"), "%s with %s: %s", line, file, stderr)
			require.Contains(t, stderr, file, line)
		}
	}
}

// A page or a file goes through a link, into a pipe, and nowhere if the device is full, which
// stays what it is.
func TestWriteThrough(t *testing.T) {
	f := newFileTest(t)
	for _, line := range sorted(written) {
		if first := strings.Fields(line)[0]; !thorough.Set() &&
			slices.Contains([]string{"fuzz", "matrix", "mutants", "overhead"}, first) {
			continue // a page takes them some seconds, and is written as check's is
		}
		require.NoError(t, os.Mkdir("store", 0o755))
		require.NoError(t, os.Symlink("store/target", "link"))
		status, _, stderr := f.run(line, "link")
		require.Contains(t, []int{cli.OK, cli.Against}, status, "%s: %s", line, stderr)
		s, err := os.Lstat("link")
		require.NoError(t, err)
		require.NotZero(t, s.Mode()&os.ModeSymlink, "%s: the link is still one", line)
		through, err := os.ReadFile("store/target")
		require.NoError(t, err, line)
		require.NotEmpty(t, through, line)

		require.NoError(t, syscall.Mkfifo("pipe", 0o600))
		got := make(chan int, 1)
		go func() {
			data, _ := os.ReadFile("pipe")
			got <- len(data)
		}()
		status, _, stderr = f.run(line, "pipe")
		require.Contains(t, []int{cli.OK, cli.Against}, status, "%s: %s", line, stderr)
		require.InDelta(t, len(through), <-got, 100, line) // of a page with the time that it took

		status, _, stderr = f.run(line, "/dev/full")
		require.Equal(t, cli.BadInput, status, "%s: %s", line, stderr)
		require.Contains(t, stderr, "/dev/full: no space left on device", line)
		s, err = os.Stat("/dev/full")
		require.NoError(t, err)
		require.NotZero(t, s.Mode()&os.ModeCharDevice, "%s: the device is still one", line)
		for _, name := range []string{"store", "link", "pipe"} {
			require.NoError(t, os.RemoveAll(name))
		}
	}
}

// ^C while review asks another program for its version is an interrupt, and no fault of that
// program's.
func TestReviewInterruptedAtOnce(t *testing.T) {
	kpsim := thisProgram(t)
	slow := filepath.Join(t.TempDir(), "kpsim-before")
	require.NoError(t, os.WriteFile(slow, []byte("#!/bin/sh\nexec sleep 30\n"), 0o755))
	e := proctest.InterruptedAfter(t, kpsim, 500*time.Millisecond, "review", "--before-program", slow)
	require.Equal(t, cli.Interrupted, e.Status, e.Stderr)
	require.Equal(t, "kpsim: interrupted\n", e.Stderr)
}

// A folder that can't be written to is named with the flag that it was given by, or that it is
// the default of, and with no other.
func TestReadOnlyFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("traces", nil, 0o644)) // so that root can't make the folder either
	for _, line := range []string{"fuzz --runs 2 --each 2", "explore safe-none --runs 2", "verify safe-none --runs 2",
		"matrix jump/sched/breakpoint --drawn 8"} {
		var out, errs bytes.Buffer
		require.Equal(t, cli.BadInput, run(strings.Fields(line), &out, &errs), line)
		require.Regexp(t, `^kpsim: --traces: traces: .*\n$`, errs.String(), line)
	}
	if os.Geteuid() == 0 {
		t.Log("root may write to any folder, so one that is read-only isn't tried")
		return
	}
	require.NoError(t, os.Remove("traces"))
	require.NoError(t, os.Chmod(".", 0o555))
	var out, errs bytes.Buffer
	require.Equal(t, cli.BadInput, run(strings.Fields("fuzz --runs 2 --each 2"), &out, &errs))
	require.Regexp(t, `^kpsim: --traces: traces: permission denied`, errs.String())
}
