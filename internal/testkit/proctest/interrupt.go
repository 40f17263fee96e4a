package proctest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An Ending is how a command has ended.
type Ending struct {
	Status int
	Memory int64 // bytes that were resident at most, 0 where the system doesn't tell
	Stderr string
}

// Deaf is how long a command has to end after ^C before the test fails. On a computer that does
// nothing else a second is enough; tests don't measure that one.
const Deaf = 20 * time.Second

// InterruptedAfter runs a command in an empty folder and sends ^C after so long, if it
// hasn't ended by then.
//
// On a busy computer ^C may come before the program hears it, or when it has just ended: then it
// is waited longer, three times at most.
func InterruptedAfter(t *testing.T, program string, wait time.Duration, args ...string) (e Ending) {
	t.Helper()
	for range 3 {
		if e = interruptedAfter(t, program, wait, args...); e.Status >= 0 {
			break
		}
		wait *= 4
	}
	return e
}

func interruptedAfter(t *testing.T, program string, wait time.Duration, args ...string) Ending {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), io.Discard, &stderr
	shrink()
	require.NoError(t, cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var err error
	var e Ending
	select {
	case err = <-done:
	case <-time.After(wait):
		if err := cmd.Process.Signal(os.Interrupt); !errors.Is(err, os.ErrProcessDone) {
			require.NoError(t, err)
		}
		select {
		case err = <-done:
		case <-time.After(Deaf):
			cmd.Process.Kill()
			t.Fatalf("%v doesn't hear ^C", args)
		}
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	e.Status, e.Stderr = cmd.ProcessState.ExitCode(), stderr.String()
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		e.Memory = u.Maxrss << 10
	}
	return e
}

// large is how many bytes may be resident here when a process is started whose memory is measured.
const large = 200 << 20

// shrink forgets the peak of this process, after it has given back what it doesn't need if it is large: Linux begins to
// count the memory of a process with the peak of its parent.
func shrink() {
	var pages, resident int64
	statm, _ := os.ReadFile("/proc/self/statm")
	fmt.Sscan(string(statm), &pages, &resident)
	if resident*int64(os.Getpagesize()) > large {
		debug.FreeOSMemory()
	}
	os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}
