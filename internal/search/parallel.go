package search

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// A worker does jobs, one after another, in a goroutine of its own.
type worker struct {
	do    func(job int)
	close func()
}

// inParallel does the jobs 0 to n-1. A panic sets stop, and is panicked again in
// the goroutine that called, as a *Crash.
func inParallel(workers, n int, stop *atomic.Bool, begin func() worker) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
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
			w := begin()
			defer w.close()
			for job = int(next.Add(1) - 1); job < n; job = int(next.Add(1) - 1) {
				w.do(job)
			}
		}()
	}
	wg.Wait()
	if p := failed.Load(); p != nil {
		panic(p)
	}
}

// Each calls f for 0 to n-1, by one goroutine a processor, and returns the error of the
// least number. A panic is panicked again in the goroutine that called, as a *Crash.
func Each(n int, f func(i int) error) error {
	errs := make([]error, n)
	var stop atomic.Bool // by a panic
	inParallel(0, n, &stop, func() worker {
		return worker{func(i int) {
			if !stop.Load() {
				errs[i] = f(i)
			}
		}, func() {}}
	})
	return cmp.Or(errs...)
}
