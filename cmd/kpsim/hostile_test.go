package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/traces"
)

// Files come by mail, from strangers. Of each kind of file these tests make mutated ones
// from the corpus and give them to the commands that read them: scripts/hostile runs more.
var (
	hostileFiles  = flag.Int("hostile", thorough.Of(8, 25), "how many mutated files of each kind are given to commands")
	hostileSeed   = flag.Uint64("hostile-seed", 1, "which ones")
	hostileOnly   = flag.String("hostile-only", "", "one kind of file only")
	hostileBinary = flag.String("hostile-binary", "",
		"give one file in 50 to this kpsim, too, under strace if that is there")
)

// What a command may take, whatever it is given.
const (
	hostileTime   = 20 * time.Second
	hostileMemory = 1 << 20 // KB
)

// A hostileKind is a kind of file, and the commands that read it: $F stands for the file.
type hostileKind struct {
	name     string
	ext      string
	seeds    [][]byte
	mutate   func(r *rand.Rand, seeds [][]byte) []byte
	commands []string
}

// A hostileRow is a line of the table that is printed.
type hostileRow struct {
	files    int
	status   map[int]int
	longest  time.Duration
	slowest  string
	memory   int // KB
	binaries int
}

func TestHostile(t *testing.T) {
	if race {
		t.Skip("there is nothing that runs beside it")
	}
	root := t.TempDir()
	for _, kind := range hostileKinds(t) {
		if *hostileOnly != "" && kind.name != *hostileOnly {
			continue
		}
		t.Run(kind.name, func(t *testing.T) {
			h := newHost(t, filepath.Join(root, kind.name), kind)
			for i := range *hostileFiles {
				h.one(i)
			}
			t.Logf("%-9s %6d files  status 0: %d, 1: %d, 2: %d  longest %.1f s  memory %d MB  by the binary %d",
				kind.name,
				h.row.files, h.row.status[0], h.row.status[1], h.row.status[2], h.row.longest.Seconds(),
				h.row.memory>>10, h.row.binaries)
		})
	}
}

// A host gives files to commands, in a folder of its own.
type host struct {
	t     *testing.T
	kind  *hostileKind
	dir   string // the working directory
	rand  *rand.Rand
	row   hostileRow
	fresh map[string]bool // what lies in the folder above
}

func newHost(t *testing.T, above string, kind *hostileKind) *host {
	h := &host{t: t, kind: kind, dir: filepath.Join(above, "work"), rand: rand.New(rand.NewPCG(*hostileSeed, 0))}
	h.row.status = make(map[int]int)
	require.NoError(t, os.MkdirAll(filepath.Join(h.dir, "traces"), 0o755))
	tripwires(t, above)
	tripwires(t, h.dir)
	h.fresh = hostileListing(above)
	t.Chdir(h.dir)
	return h
}

// one makes a file and gives it to a command.
func (h *host) one(i int) {
	h.t.Helper()
	data := h.kind.mutate(h.rand, h.kind.seeds)
	name := "mail" + h.kind.ext
	line := h.kind.commands[h.rand.IntN(len(h.kind.commands))]
	if strings.Contains(line, "explore") { // it looks at what lies in traces
		name = filepath.Join("traces", "second-instruction.kps")
	}
	require.NoError(h.t, os.WriteFile(name, data, 0o644))
	args := strings.Fields(strings.ReplaceAll(line, "$F", name))
	why := h.inProcess(args)
	if why == "" && *hostileBinary != "" && i%50 == 0 {
		require.NoError(h.t, os.WriteFile(name, data, 0o644))
		why = h.byBinary(args)
	}
	if why == "" {
		why = h.left()
	}
	if why != "" {
		kept := filepath.Join(os.TempDir(), fmt.Sprintf("hostile-%s-%d-%d%s", h.kind.name, *hostileSeed, i, h.kind.ext))
		require.NoError(h.t, os.WriteFile(kept, data, 0o644))
		h.t.Fatalf("kpsim %s: %s\nthe file is kept as %s", strings.Join(args, " "), why, kept)
	}
	h.row.files++
}

// inProcess gives the words to run, and says what is wrong with what came of it.
func (h *host) inProcess(args []string) string {
	var stdout, stderr bytes.Buffer
	if resetPeak(); peakMemory() > hostileMemory/8 { // what the command before it has left
		debug.SetGCPercent(100)
		debug.FreeOSMemory()
		resetPeak()
	}
	began := time.Now()
	done := make(chan int, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				fmt.Fprintf(&stderr, "panic: %v", v)
				done <- -1
			}
		}()
		done <- run(args, &stdout, &stderr)
	}()
	var status int
	select {
	case status = <-done:
	case <-time.After(hostileTime):
		stacks := make([]byte, 1<<16)
		return fmt.Sprintf("it isn't done after %v\n%s", hostileTime, stacks[:runtime.Stack(stacks, true)])
	}
	took, peak := time.Since(began), peakMemory()
	if took > h.row.longest {
		h.row.longest, h.row.slowest = took, strings.Join(args, " ")
	}
	h.row.memory = max(h.row.memory, peak)
	h.row.status[status]++
	if peak > hostileMemory {
		return fmt.Sprintf("it takes %d MB", peak>>10)
	}
	return wrongOutput(status, stdout.Bytes(), stderr.Bytes())
}

// wrongOutput says what a command may not do.
func wrongOutput(status int, stdout, stderr []byte) string {
	if status < 0 || status > 2 {
		return fmt.Sprintf("exit status %d\n%s", status, stderr)
	}
	for _, out := range [][]byte{stdout, stderr} {
		if raw := rawIn(out); raw != "" {
			return fmt.Sprintf("it prints %s", raw)
		}
	}
	return ""
}

// rawIn names the first character of a text that isn't plain.
func rawIn(text []byte) string {
	for n := 0; n < len(text); {
		r, size := utf8.DecodeRune(text[n:])
		if r == utf8.RuneError && size == 1 || !traces.IsPlain(r) {
			return fmt.Sprintf("%q in %q", text[n:n+size], text[max(0, n-60):min(len(text), n+60)])
		}
		n += size
	}
	return ""
}

// left looks at what a command has left: text that is plain, and nothing outside.
func (h *host) left() string {
	for name := range hostileListing(filepath.Dir(h.dir)) {
		if !h.fresh[name] {
			return "it has written " + name + " outside its folder"
		}
	}
	for _, name := range []string{"out.html", "out.txt", "out.kps"} {
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if raw := rawIn(data); raw != "" {
			return fmt.Sprintf("%s has %s", name, raw)
		}
		os.Remove(name)
	}
	return ""
}

func hostileListing(dir string) map[string]bool {
	names := make(map[string]bool)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		names[e.Name()] = true
	}
	return names
}

// byBinary gives the words to a program of its own, and sees which files it opens.
func (h *host) byBinary(args []string) string {
	log := filepath.Join(h.t.TempDir(), "strace")
	words := append([]string{*hostileBinary}, args...)
	strace, err := exec.LookPath("strace")
	if err == nil {
		words = append([]string{strace, "-f", "-qq", "-e", "trace=file", "-e", "signal=none", "-o", log}, words...)
	}
	cmd := exec.Command(words[0], words[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(h.t, cmd.Start())
	timer := time.AfterFunc(3*hostileTime, func() { cmd.Process.Kill() }) // strace makes it slower
	cmd.Wait()
	if !timer.Stop() {
		return "the binary hangs"
	}
	h.row.binaries++
	if why := wrongOutput(cmd.ProcessState.ExitCode(), stdout.Bytes(), stderr.Bytes()); why != "" {
		return "by the binary: " + why
	}
	calls, err := os.ReadFile(log)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(calls)) {
		if opensOutside(line, h.dir) {
			return "it opens " + line
		}
	}
	return ""
}

// opensOutside reports whether a line of strace opens or makes a file that isn't the
// mail's folder's, nor one that every Go program opens.
func opensOutside(line, dir string) bool {
	_, call, _ := strings.Cut(strings.TrimSpace(line), " ")
	name, rest, _ := strings.Cut(strings.TrimSpace(call), "(")
	if !slices.Contains([]string{"open", "openat", "creat", "mkdir", "mkdirat", "rename", "renameat", "renameat2",
		"unlink", "unlinkat", "symlink", "link"}, name) {
		return false
	}
	_, path, ok := strings.Cut(rest, `"`)
	if !ok {
		return false
	}
	path, _, _ = strings.Cut(path, `"`)
	for _, system := range []string{"/sys/", "/proc/self/", "/etc/ld.so", "/lib", "/usr/lib", "/usr/share/zoneinfo",
		"/etc/localtime", "/dev/null"} {
		if strings.HasPrefix(path, system) {
			return false
		}
	}
	return strings.Contains(path, "trip") || filepath.IsAbs(path) && !strings.HasPrefix(path, dir) ||
		strings.HasPrefix(filepath.Clean(path), "..")
}

// resetPeak makes peakMemory begin anew, where the system can.
func resetPeak() { os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peakMemory is the largest resident set so far, in KB; 0 where the system doesn't tell.
func peakMemory() int {
	data, _ := os.ReadFile("/proc/self/status")
	_, after, _ := strings.Cut(string(data), "VmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	kb, _ := strconv.Atoi(number)
	return kb
}
