package served

import (
	"encoding/json"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"
)

// Variable is set in the environment of a process that serves.
const Variable = "KPSIM_TEST_SERVES"

// A Request is a command line. Directory, environment and standard input are as a process of its
// own would have them; standard output and standard error are pipes.
type Request struct {
	Dir, Input string
	Env, Args  []string
	Joined     bool // standard error goes to standard output
}

// A Reply is how the command has ended, and what it has printed.
type Reply struct {
	Status         int
	Stdout, Stderr []byte
	Fault          string // why it wasn't run; "": it was
}

// Serve answers the requests of standard input with run, and exits; it returns at once in a process
// that is not to serve. It is called by an init, whose thread belongs to one goroutine: run gets
// another.
func Serve(run func(args []string, stdout, stderr io.Writer) int) {
	if os.Getenv(Variable) == "" {
		return
	}
	go func() {
		requests, replies := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
		for {
			var q Request
			if requests.Decode(&q) != nil {
				os.Exit(0)
			}
			r, err := q.answer(run)
			if err != nil {
				r.Fault = err.Error()
			}
			replies.Encode(r)
		}
	}()
	select {}
}

// answer makes the process as a new one would be, and runs the command.
func (q *Request) answer(run func([]string, io.Writer, io.Writer) int) (r Reply, err error) {
	if err := os.Chdir(q.Dir); err != nil {
		return r, err
	}
	os.Clearenv()
	for _, v := range q.Env {
		name, value, _ := strings.Cut(v, "=")
		os.Setenv(name, value)
	}
	os.Args = append([]string{"kpsim"}, q.Args...)
	debug.SetGCPercent(100)

	in, typed, err := os.Pipe()
	if err != nil {
		return r, err
	}
	defer in.Close()
	go func() {
		io.WriteString(typed, q.Input)
		typed.Close()
	}()
	out, stdout, err := os.Pipe()
	if err != nil {
		return r, err
	}
	errs, stderr, err := os.Pipe()
	if err != nil {
		return r, err
	}
	var read sync.WaitGroup
	read.Go(func() { r.Stdout, _ = io.ReadAll(out) })
	read.Go(func() { r.Stderr, _ = io.ReadAll(errs) })

	was := [...]*os.File{os.Stdin, os.Stdout, os.Stderr}
	os.Stdin, os.Stdout, os.Stderr = in, stdout, stderr
	if q.Joined {
		os.Stderr = stdout
	}
	r.Status = run(q.Args, os.Stdout, os.Stderr)
	os.Stdin, os.Stdout, os.Stderr = was[0], was[1], was[2]
	stdout.Close()
	stderr.Close()
	read.Wait()
	out.Close()
	errs.Close()
	return r, nil
}
