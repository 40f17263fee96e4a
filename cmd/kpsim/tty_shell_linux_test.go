package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A typist types into a program that runs on a terminal of 24 lines of 100 columns.
type typist struct {
	t       *testing.T
	master  *os.File
	cmd     *exec.Cmd
	ended   chan error
	drained chan struct{}

	mu    sync.Mutex
	shown bytes.Buffer
	seen  int // bytes that sees has gone past
}

// Two of the keys.
const (
	ctrlC = "\x03"
	ctrlD = "\x04"
)

// typing starts kpsim shell on a terminal. Its history is below state.
func typing(t *testing.T, state string, args ...string) *typist {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	var locked, n int32
	size := [4]uint16{24, 100}
	ioctl := func(request uintptr, arg unsafe.Pointer) {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(arg))
		require.Zero(t, errno)
	}
	ioctl(syscall.TIOCSPTLCK, unsafe.Pointer(&locked))
	ioctl(syscall.TIOCGPTN, unsafe.Pointer(&n))
	ioctl(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(int(n)), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	defer tty.Close()

	y := &typist{t: t, master: master, ended: make(chan error, 1), drained: make(chan struct{}),
		cmd: exec.Command(thisProgram(t), append([]string{"shell"}, args...)...)}
	y.cmd.Stdin, y.cmd.Stdout, y.cmd.Stderr = tty, tty, tty
	y.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // so that ^C is a signal to it
	y.cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1", "XDG_STATE_HOME="+state)
	require.NoError(t, y.cmd.Start())
	go func() { y.ended <- y.cmd.Wait() }()
	go func() {
		defer close(y.drained)
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			y.mu.Lock()
			y.shown.Write(b[:n])
			y.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		y.cmd.Process.Kill()
		master.Close()
	})
	return y
}

func (y *typist) keys(s string) {
	y.t.Helper()
	_, err := y.master.WriteString(s)
	require.NoError(y.t, err)
}

var codes = regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]")

// sees waits until the pattern is shown, after what was seen before.
func (y *typist) sees(pattern string) {
	y.t.Helper()
	re := regexp.MustCompile(pattern)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		y.mu.Lock()
		text := y.shown.String()[y.seen:]
		at := re.FindStringIndex(text)
		if at != nil {
			y.seen += at[1]
		}
		y.mu.Unlock()
		if at != nil {
			return
		}
		if time.Now().After(end) {
			y.t.Fatalf("no %s in %q", pattern, text)
		}
	}
}

// leaves waits for the end of the program, and returns its status.
func (y *typist) leaves() int {
	y.t.Helper()
	end := time.After(20 * time.Second)
	select {
	case <-y.ended:
	case <-end:
		y.t.Fatal("it hasn't ended")
	}
	select {
	case <-y.drained: // what it has shown last was read, too
	case <-end:
		y.t.Fatal("its terminal hasn't been closed")
	}
	return y.cmd.ProcessState.ExitCode()
}

// transcript is all that was shown, without codes, and of each line what stood there last.
func (y *typist) transcript() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	lines := strings.Split(strings.ReplaceAll(y.shown.String(), "\r\n", "\n"), "\n")
	for i, l := range lines {
		l = l[strings.LastIndexByte(l, '\r')+1:]
		lines[i] = strings.TrimRight(codes.ReplaceAllString(l, ""), " ")
	}
	return strings.Join(lines, "\n")
}

// At a terminal lines are edited: Tab completes, history comes back, also that of an earlier
// session, ^L clears, and ^D leaves.
func TestShellEdits(t *testing.T) {
	state := t.TempDir()
	y := typing(t, state, "safe-full")
	y.sees(`help lists the commands, \^D ends.`)
	y.sees("kpsim> ")
	y.keys("call vi\t3 5\r")
	y.sees(`victim\(3, 5\) = 0xffffffffffffffbb`)
	y.sees("kpsim> ")
	y.keys("reg\t\t")
	y.sees("register +regs")
	y.keys(ctrlC) // the line is dropped, and the session is there
	y.sees("kpsim> ")
	y.keys("\x0c")
	y.sees(`\x1b\[H\x1b\[2J`)
	y.keys("wher\t| grep cpu1\r")
	y.sees("cpu1  idle\r\n")
	y.keys("\x1b[A\x1b[A\r") // up, up: the call
	y.sees(`victim\(3, 5\) = 0xffffffffffffffbb`)
	y.keys("hist") // and what was typed can be taken back
	y.keys("\x15\x04")
	require.Zero(t, y.leaves())

	kept := filepath.Join(state, "kpsim", "shell-history")
	data, err := os.ReadFile(kept)
	require.NoError(t, err)
	require.Equal(t, "call victim 3 5\nwhere | grep cpu1\ncall victim 3 5\n", string(data))
	s, err := os.Stat(kept)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), s.Mode().Perm())

	y = typing(t, state, "safe-full")
	y.sees("kpsim> ")
	y.keys("\x12grep") // ^R finds it in the earlier session's
	y.sees(`where \| grep`)
	y.keys("\r")
	y.sees("cpu1  idle\r\n")
	y.sees("kpsim> ")
	y.keys("exit\r")
	require.Zero(t, y.leaves())
	require.Contains(t, y.transcript(), "\nkpsim> exit")
}

// ^C ends the command that runs, and only that.
func TestShellInterrupted(t *testing.T) {
	y := typing(t, t.TempDir(), filepath.FromSlash("../../traces/corpus/P1-lost-kick.kps"))
	y.sees("kpsim> ")
	y.keys("break Oops\r") // so that the steps are made one by one
	y.sees("1: break Oops\r\n")
	y.sees("kpsim> ")
	y.keys("run\r")
	stop := make(chan bool)
	go func() { // one that comes before the run does nothing but drop a line
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
				y.master.WriteString(ctrlC)
			}
		}
	}()
	y.sees("interrupted at step [0-9]+, after event [0-9]+; continue goes on")
	close(stop)
	y.sees("kpsim> ")
	time.Sleep(100 * time.Millisecond)
	y.keys("where\r")
	y.sees("steps so far, digest ")
	y.keys(ctrlD)
	require.Zero(t, y.leaves())
}

// A session that is ended from outside gives the terminal back as it was.
func TestShellTerminated(t *testing.T) {
	y := typing(t, t.TempDir(), "safe-full")
	var before, after syscall.Termios
	mode := func(m *syscall.Termios) {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, y.master.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(m)))
		require.Zero(t, errno)
	}
	y.sees("kpsim> ")
	time.Sleep(50 * time.Millisecond)
	mode(&before)
	require.Zero(t, before.Lflag&syscall.ECHO, "the editor shows what is typed")
	require.NoError(t, y.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 128+int(syscall.SIGTERM), y.leaves())
	mode(&after)
	require.NotZero(t, after.Lflag&syscall.ECHO)
	require.NotZero(t, after.Lflag&syscall.ICANON)
}
