package scripttest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/proctest"
	"kpsim/internal/testkit/thorough"
)

// Exit statuses of kpsim.
const (
	badInput    = 2
	interrupted = 130
	terminated  = 143
)

var updateScripts = flag.Bool("update-scripts", false, "write what scripts compare with cmp anew; read the diff")

// TestMain compiles the program under test.
func TestMain(m *testing.M) { proctest.Main(m) }

func TestScripts(t *testing.T) {
	library, err := filepath.Abs("../../../internal/scenario/library")
	if err != nil {
		t.Fatal(err)
	}
	data, err := filepath.Abs("../testdata/mine")
	if err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Abs("../../../smp/image/testdata")
	if err != nil {
		t.Fatal(err)
	}
	document, err := filepath.Abs("../testdata/document")
	if err != nil {
		t.Fatal(err)
	}
	figures, err := filepath.Abs("../../../internal/eval/overhead/figures.csv")
	if err != nil {
		t.Fatal(err)
	}
	kernel := ""
	if all := kerneltest.Files("6.12"); len(all) > 0 {
		kernel = all[len(all)-1]
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *updateScripts,
		Setup: func(e *testscript.Env) error {
			proctest.Setup(e)
			e.Values[inputKey{}] = new(string)
			e.Setenv("LIBRARY", library)
			e.Setenv("DATA", data)
			e.Setenv("DOCUMENT", document)
			e.Setenv("MODULES", modules)
			e.Setenv("FIGURES", figures)
			e.Setenv("KERNEL", kernel)
			e.Setenv("KERNELS", filepath.Dir(filepath.Dir(kernel)))
			return os.WriteFile(filepath.Join(e.WorkDir, "arm.o"), armObject(), 0o644)
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "race":
				return proctest.Race, nil
			case "kernel":
				return kernel != "", nil
			case "thorough":
				return thorough.Set(), nil
			case "root": // may write everywhere
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("no condition is called %s", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"kpsim": cmdKpsim, "status": cmdStatus, "input": cmdInput, "line": cmdLine, "lastline": cmdLastLine,
			"json": cmdJSON,
			"edit": cmdEdit, "truncate": cmdTruncate, "interrupt": cmdInterrupt,
			"serve": cmdServe, "edited": cmdEdited, "crlf": cmdCRLF, "fifo": cmdFIFO, "unpack": cmdUnpack,
		},
	})
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

// inputKey is the key of what the next kpsim of a script reads.
type inputKey struct{}

// input FILE: the next kpsim reads it from standard input.
func cmdInput(ts *testscript.TestScript, neg bool, args []string) {
	*ts.Value(inputKey{}).(*string) = ts.ReadFile(args[0])
}

// kpsim ARGS: runs it, and wants 0, or with ! another exit status.
func cmdKpsim(ts *testscript.TestScript, neg bool, args []string) {
	if got := run(ts, "kpsim", args...); (got != 0) != neg {
		ts.Fatalf("exit status %d", got)
	}
}

// status N kpsim ARGS: runs it, and wants one of the exit statuses, each a digit.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command args...")
	}
	if got := run(ts, args[1], args[2:]...); !strings.Contains(args[0], strconv.Itoa(got)) {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// run runs a command and returns its exit status. Only exec, which is a process of its own, reads
// what the command stdin gives.
func run(ts *testscript.TestScript, command string, args ...string) (status int) {
	input := ts.Value(inputKey{}).(*string)
	if command == "kpsim" {
		if r, ok := proctest.Run(ts, *input, false, args...); ok {
			*input = ""
			ts.Stdout().Write(r.Stdout)
			ts.Stderr().Write(r.Stderr)
			return r.Status
		}
	}
	return proctest.ExitStatus(ts, ts.Exec(command, args...))
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
	line := regexp.MustCompile(`^kpsim: cut.kps:\d+: .*\n$`)
	for i := 1; i < 12; i++ {
		ts.Check(os.WriteFile(ts.MkAbs("cut.kps"), []byte(whole[:len(whole)*i/12]), 0o644))
		r, _ := proctest.Run(ts, "", false, "replay", "cut.kps")
		if r.Status != badInput || len(r.Stdout) > 0 || !line.Match(r.Stderr) {
			ts.Fatalf("cut off after %d/12: exit status %d\n%s%s", i, r.Status, r.Stdout, r.Stderr)
		}
	}
}

// interrupt [-term] PATTERN kpsim ARGS: runs it, sends ^C, or SIGTERM, when it has begun, and wants
// 130, or 143, and a line that matches. How long a busy computer takes until there is what the
// line tells isn't known. So a run that was interrupted too early, or that had no time left to
// print it, is made again, and is given twice as long before.
func cmdInterrupt(ts *testscript.TestScript, neg bool, args []string) {
	signal, want := os.Signal(os.Interrupt), interrupted
	if args[0] == "-term" {
		signal, want, args = syscall.SIGTERM, terminated, args[1:]
	}
	line := regexp.MustCompile("(?m)" + args[0])
	path, err := exec.LookPath(filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0],
		args[1]))
	ts.Check(err)
	for wait := 300 * time.Millisecond; ; wait *= 2 {
		ts.Check(os.RemoveAll(ts.MkAbs("traces")))
		cmd := exec.Command(path, args[2:]...)
		cmd.Dir = ts.MkAbs(".")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		ts.Check(cmd.Start())
		time.Sleep(wait)
		ts.Check(cmd.Process.Signal(signal))
		cmd.Wait()
		status, out := cmd.ProcessState.ExitCode(), append(stdout.Bytes(), stderr.Bytes()...)
		switch heard := status == want; {
		case heard && line.Match(out):
			ts.Check(os.WriteFile(ts.MkAbs("out"), out, 0o644))
			return
		case !heard && status >= 0, wait > interruptMost: // -1: the signal has ended it
			ts.Fatalf("exit status %d, %v before it was interrupted\n%s", status, wait, out)
		}
	}
}

// interruptMost is after how long a command that doesn't print what it is to print fails.
const interruptMost = 15 * time.Second
