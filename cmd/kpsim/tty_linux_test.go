package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"kpsim/internal/ui/cli"
	"kpsim/traces/view"
)

// onTerminal runs the program on a terminal of so many columns, and returns what is shown.
func onTerminal(t *testing.T, program string, columns uint16, args ...string) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	defer master.Close()
	var locked, n int32
	size := [4]uint16{24, columns}
	ioctl := func(request uintptr, arg unsafe.Pointer) {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(arg))
		require.Zero(t, errno)
	}
	ioctl(syscall.TIOCSPTLCK, unsafe.Pointer(&locked))
	ioctl(syscall.TIOCGPTN, unsafe.Pointer(&n))
	ioctl(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(int(n)), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)

	var shown bytes.Buffer
	over := make(chan bool)
	go func() {
		io.Copy(&shown, master) // ends with an error when no process has the terminal any more
		close(over)
	}()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = tty, tty
	if err := cmd.Run(); err != nil {
		require.IsType(t, new(exec.ExitError), err)
	}
	require.NoError(t, tty.Close())
	<-over
	return strings.ReplaceAll(shown.String(), "\r\n", "\n")
}

// Colours are for terminals, and for users who ask for them.
func TestColours(t *testing.T) {
	kpsim := thisProgram(t)
	t.Chdir(t.TempDir())
	trace := func(env ...string) string {
		t.Setenv("NO_COLOR", "")
		t.Setenv("TERM", "xterm")
		for i := 0; i < len(env); i += 2 {
			t.Setenv(env[i], env[i+1])
		}
		return onTerminal(t, kpsim, 80, "explore", "--runs", "100", "second-instruction")
	}
	require.Contains(t, trace(), cli.Green+"as expected\x1b[0m")
	require.NotContains(t, trace("NO_COLOR", "1"), "\x1b[3")
	require.NotContains(t, trace("TERM", "dumb"), "\x1b", "not even to clear a line of progress")
	require.Contains(t, trace("TERM", "dumb"), "as expected")
}

// On a terminal of 40 columns nothing is broken in the middle of a word, and no column is
// torn apart: but for lines that are to be typed, and words that are longer.
func TestFortyColumns(t *testing.T) {
	trace, err := filepath.Abs("../../traces/corpus/T2-second-instruction.kps")
	require.NoError(t, err)
	kpsim := thisProgram(t)
	t.Chdir(t.TempDir())
	t.Setenv("NO_COLOR", "1")
	t.Setenv("TERM", "dumb") // no progress
	require.NoError(t, os.Symlink(trace, "t.kps"))
	var commands [][]string
	for _, line := range []string{
		"--help", "explore --runs 200 second-instruction no-sail-past torn-jump", "verify torn-jump",
		"fuzz --runs 200 --edition 6.9",
		"run safe-full", "replay t.kps", "explain --runs 20 t.kps", "mutants --seeds 2 --blind no-quiesce", "list",
		"editions", "version", "overhead fit",
	} {
		commands = append(commands, strings.Fields(line))
	}
	for _, c := range []string{"explore", "replay", "completion", "version", "matrix"} {
		commands = append(commands, []string{c, "--help"})
	}
	for _, c := range commands {
		lines := strings.Split(onTerminal(t, kpsim, 40, c...), "\n")
		require.Greater(t, len(lines), 3, "%v", c)
		for _, l := range lines {
			words := strings.Fields(l)
			long := slices.ContainsFunc(words, func(w string) bool { return len(w) > 30 })
			if view.Visible(l) > 40 && !strings.Contains(l, "kpsim ") && !long && len(words) > 1 {
				t.Errorf("%v: %d columns: %s", c, view.Visible(l), l)
			}
		}
	}
}
