package parallel

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// A Crash is a panic of a worker, with its stack. It unwraps to the panic's value if that is an
// error.
type Crash struct {
	Value any
	Stack []byte
	Job   int // the number of the job, from 0; in a fuzzer, of the program
}

func (c *Crash) Error() string { return fmt.Sprint(c.Value) }

// Unwrap lets errors.As find a *sim.BugError.
func (c *Crash) Unwrap() error {
	err, _ := c.Value.(error)
	return err
}

// Workers returns the number of workers for a request of n: one per processor if n is 0.
func Workers(n int) int {
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	return n
}

// Run does the jobs 0 to n-1. A panic sets stop, and is raised again in the calling goroutine, as
// a *Crash.
func Run(workers, n int, stop *atomic.Bool, begin func() (do func(job int), close func())) {
	workers = Workers(workers)
	var (
		next   atomic.Int64
		wg     sync.WaitGroup
		failed atomic.Pointer[Crash]
	)
	for range min(workers, n) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			job := 0
			defer func() {
				if p := recover(); p != nil {
					failed.CompareAndSwap(nil, &Crash{p, debug.Stack(), job})
					stop.Store(true)
				}
			}()
			do, close := begin()
			defer close()
			for job = int(next.Add(1) - 1); job < n; job = int(next.Add(1) - 1) {
				do(job)
			}
		}()
	}
	wg.Wait()
	if p := failed.Load(); p != nil {
		panic(p)
	}
}

// Each calls f for 0 to n-1, with one goroutine per processor, and returns the error of the
// lowest number. A panic is raised again in the calling goroutine, as a *Crash.
func Each(n int, f func(i int) error) error {
	errs := make([]error, n)
	var stop atomic.Bool // set by a panic
	Run(0, n, &stop, func() (do func(job int), close func()) {
		return func(i int) {
			if !stop.Load() {
				errs[i] = f(i)
			}
		}, func() {}
	})
	return cmp.Or(errs...)
}
