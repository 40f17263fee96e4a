package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"kpsim/sim"
)

var updateScripts = flag.Bool("update-scripts", false, "write what scripts compare with cmp anew; read the diff")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kpsim": main})
}

func TestScripts(t *testing.T) {
	library, err := filepath.Abs("../../properties/scenario/library")
	if err != nil {
		t.Fatal(err)
	}
	data, err := filepath.Abs("testdata/mine")
	if err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Abs("../../smp/image/testdata")
	if err != nil {
		t.Fatal(err)
	}
	document, err := filepath.Abs("testdata/document")
	if err != nil {
		t.Fatal(err)
	}
	figures, err := filepath.Abs("../../properties/overhead/figures.csv")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *updateScripts,
		Setup: func(e *testscript.Env) error {
			e.Setenv("LIBRARY", library)
			e.Setenv("DATA", data)
			e.Setenv("DOCUMENT", document)
			e.Setenv("MODULES", modules)
			e.Setenv("FIGURES", figures)
			return os.WriteFile(filepath.Join(e.WorkDir, "arm.o"), armObject(), 0o644)
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "race":
				return race, nil
			case "root": // may write everywhere
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("no condition is called %s", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": cmdStatus, "line": cmdLine, "lastline": cmdLastLine, "json": cmdJSON,
			"edit": cmdEdit, "truncate": cmdTruncate, "interrupt": cmdInterrupt,
			"serve": cmdServe, "edited": cmdEdited, "crlf": cmdCRLF, "fifo": cmdFIFO, "unpack": cmdUnpack,
		},
	})
}

// thisProgram is the path of kpsim: of this very test, which is that if it is called so.
func thisProgram(t *testing.T) string {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kpsim := filepath.Join(t.TempDir(), "kpsim")
	if err := os.Symlink(exe, kpsim); err != nil {
		t.Fatal(err)
	}
	return kpsim
}

// armObject is the header of an object file for another processor.
func armObject() []byte {
	b := make([]byte, 64)
	copy(b, "\x7fELF\x02\x01\x01")
	binary.LittleEndian.PutUint16(b[16:], 1)   // ET_REL
	binary.LittleEndian.PutUint16(b[18:], 183) // EM_AARCH64
	binary.LittleEndian.PutUint32(b[20:], 1)   // version
	binary.LittleEndian.PutUint16(b[52:], 64)  // of this header
	binary.LittleEndian.PutUint16(b[58:], 64)  // of a section's, of which there is none
	return b
}

// status N kpsim ARGS: runs it, and wants one of the exit statuses, each a digit.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command args...")
	}
	if got := exitStatus(ts, ts.Exec(args[1], args[2:]...)); !strings.Contains(args[0], strconv.Itoa(got)) {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

func exitStatus(ts *testscript.TestScript, err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	ts.Fatalf("%v", err)
	return -1
}

// line PATTERN: standard error is that line and no other, standard output is empty.
func cmdLine(ts *testscript.TestScript, neg bool, args []string) {
	if got := ts.ReadFile("stderr"); !regexp.MustCompile(`^kpsim: ` + args[0] + `.*\n$`).MatchString(got) {
		ts.Fatalf("stderr isn't the line %s", args[0])
	}
	if ts.ReadFile("stdout") != "" {
		ts.Fatalf("there is something on stdout")
	}
}

// lastline PATTERN: the last line of standard output.
func cmdLastLine(ts *testscript.TestScript, neg bool, args []string) {
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\n"), "\n")
	if last := lines[len(lines)-1]; !regexp.MustCompile(args[0]).MatchString(last) {
		ts.Fatalf("the last line is %q", last)
	}
}

// json KEYS: each line of standard output is an object with these keys.
func cmdJSON(ts *testscript.TestScript, neg bool, keys []string) {
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		var o map[string]any
		ts.Check(json.Unmarshal([]byte(line), &o))
		for _, k := range keys {
			if _, ok := o[k]; !ok {
				ts.Fatalf("no key %q in %s", k, line)
			}
		}
	}
}

// edit FILE PATTERN REPLACEMENT: makes FILE of traces/torn-jump.kps. ${n} is a
// line's end.
func cmdEdit(ts *testscript.TestScript, neg bool, args []string) {
	was := ts.ReadFile("traces/torn-jump.kps")
	is := regexp.MustCompile(args[1]).ReplaceAllString(was, strings.ReplaceAll(args[2], "${n}", "\n"))
	if is == was {
		ts.Fatalf("nothing to edit")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(is), 0o644))
}

// edited FILE PATTERN REPLACEMENT: edits it.
func cmdEdited(ts *testscript.TestScript, neg bool, args []string) {
	was := ts.ReadFile(args[0])
	is := regexp.MustCompile(args[1]).ReplaceAllString(was, args[2])
	if is == was {
		ts.Fatalf("nothing to edit")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(is), 0o644))
}

// crlf FILE: ends its lines as Windows does.
func cmdCRLF(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(ts.ReadFile(args[0]), "\n", "\r\n")), 0o644))
}

// unpack: makes NAME of each file NAME.in, whose lines begin with |. In them ESC is the
// character, as it is in $RAW.
func cmdUnpack(ts *testscript.TestScript, neg bool, args []string) {
	paths, err := filepath.Glob(ts.MkAbs("*.in"))
	ts.Check(err)
	for _, path := range paths {
		text := strings.ReplaceAll(strings.ReplaceAll("\n"+ts.ReadFile(path), "\n|", "\n"), "ESC", "\x1b")
		ts.Check(os.WriteFile(strings.TrimSuffix(path, ".in"), []byte(text[1:]), 0o644))
	}
	ts.Setenv("RAW", "\x1b[31mgone\u202e")
}

// truncate FILE: cut off at some bytes of each section, it is no trace.
func cmdTruncate(ts *testscript.TestScript, neg bool, args []string) {
	whole := ts.ReadFile(args[0])
	for i := 1; i < 12; i++ {
		ts.Check(os.WriteFile(ts.MkAbs("cut.kps"), []byte(whole[:len(whole)*i/12]), 0o644))
		cmdStatus(ts, false, []string{"2", "kpsim", "replay", "cut.kps"})
		cmdLine(ts, false, []string{`cut.kps:\d+: `})
	}
}

// interrupt kpsim ARGS: runs it, interrupts it when it has begun, and wants 130.
func cmdInterrupt(ts *testscript.TestScript, neg bool, args []string) {
	path, err := exec.LookPath(filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0], args[0]))
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ts.Check(cmd.Start())
	for range 1000 {
		if _, err := os.Stat(ts.MkAbs("traces")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	wait := 100 * time.Millisecond
	if race { // until it has come to its first runs
		wait *= 20
	}
	time.Sleep(wait)
	ts.Check(cmd.Process.Signal(os.Interrupt))
	status := exitStatus(ts, cmd.Wait())
	ts.Check(os.WriteFile(ts.MkAbs("out"), append(stdout.Bytes(), stderr.Bytes()...), 0o644))
	if status != exitInterrupted {
		ts.Fatalf("exit status %d\n%s%s", status, &stdout, &stderr)
	}
}

// panicking is a command with a fault of the simulator in it.
type panicking struct{ v any }

func (c panicking) run(p *program) (int, error) {
	p.doing = "scenario torn-jump, strategy portfolio, seed 7"
	panic(c.v)
}

// A bug is told with all that is needed to report it, and is exit status 3.
func TestBug(t *testing.T) {
	for _, v := range []any{&sim.BugError{Message: "cpu 1: frame stack empty", Stack: []byte("panicking.run\n")}, "index out of range"} {
		var out, errs bytes.Buffer
		if status := newProgram(&out, &errs).do(panicking{v}); status != exitBug {
			t.Errorf("status %d", status)
		}
		for _, want := range []string{"bug of the simulator", "panicking.run", "scenario torn-jump, strategy portfolio, seed 7", "Please open an issue"} {
			if !strings.Contains(errs.String(), want) {
				t.Errorf("no %q in\n%s", want, &errs)
			}
		}
		if out.Len() > 0 {
			t.Errorf("printed %s", &out)
		}
	}
}

// A file is whole or isn't there, and nothing else is left behind.
func TestWriteWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.kps")
	for _, data := range []string{"one", "two"} {
		if err := writeWhole(path, []byte(data)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != data {
			t.Errorf("%q, %v", got, err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "y.kps"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := writeWhole(filepath.Join(dir, "y.kps"), nil); err == nil {
		t.Error("wrote over a directory")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestDefaultRuns(t *testing.T) {
	for _, c := range []struct{ points, runs uint64 }{
		{0, defaultRunsMax}, {50, defaultRunsMax}, {200, 120_000}, {1000, 24_000}, {1 << 40, defaultRunsMin},
	} {
		if got := defaultRuns(c.points); got != c.runs {
			t.Errorf("defaultRuns(%d) = %d, want %d", c.points, got, c.runs)
		}
	}
}

func TestShell(t *testing.T) {
	for _, c := range []struct{ want, got string }{
		{"go run ./cmd/kpsim replay a.kps", shell("go run ./cmd/kpsim", "replay", "a.kps")},
		{"kpsim replay 'a b.kps'", shell("kpsim", "replay", "a b.kps")},
		{`kpsim replay 'it'\''s'`, shell("kpsim", "replay", "it's")},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

func TestTraceName(t *testing.T) {
	for name, want := range map[string]string{"torn-jump": "torn-jump", "../a b": "a-b", "--x": "x", "é": "scenario"} {
		if got := traceName(name); got != want {
			t.Errorf("traceName(%q) = %q, want %q", name, got, want)
		}
	}
}
