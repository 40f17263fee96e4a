package proctest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An Ending is how a command has ended.
type Ending struct {
	Status int
	Memory int64 // bytes that were resident at most, but for its last milliseconds; 0 where the system doesn't tell
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
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	peak := watchPeak(cmd.Process.Pid, ended)
	done := make(chan error, 1)
	go func() {
		done <- cmd.Wait()
		close(ended)
	}()
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
	e.Memory = <-peak
	return e
}

// watchPeak looks at how many bytes a process has had resident at most, every few milliseconds until it has ended. It
// sends the last answer. What wait4 tells would do if it didn't begin with the peak of this process.
func watchPeak(pid int, done <-chan struct{}) <-chan int64 {
	peak := make(chan int64, 1)
	go func() {
		var last int64
		defer func() { peak <- last }()
		for {
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if _, after, ok := bytes.Cut(status, []byte("VmHWM:")); ok {
				var kB int64
				fmt.Fscan(bytes.NewReader(after), &kB)
				last = kB << 10
			}
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return peak
}
