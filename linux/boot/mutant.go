package boot

import (
	"fmt"
	"sync"

	"kpsim/linux"
	"kpsim/linux/closure"
	"kpsim/linux/mutate"
)

// closures are those of kernels, each found once.
var closures = struct {
	sync.Mutex
	of map[*linux.Kernel]*closure.Closure
}{of: make(map[*linux.Kernel]*closure.Closure)}

// Closure returns what of a kernel runs. It may be called by any goroutine.
func Closure(k *linux.Kernel) (*closure.Closure, error) {
	closures.Lock()
	defer closures.Unlock()
	if c := closures.of[k]; c != nil {
		return c, nil
	}
	c, err := closure.Of(k.Image, "kprobes")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.Image.Path, err)
	}
	closures.of[k] = c
	return c, nil
}

// lately is the mutant that was asked for last: a search asks for it again and again.
var lately struct {
	sync.Mutex
	kernel *linux.Kernel
	name   string
	patch  []linux.Patch
}

// Mutant is Kernel of one with a fault (package mutate), by its name. It boots without
// the fault, which is there from the first step of a run on.
func Mutant(k *linux.Kernel, cpus int, name string) (*linux.Booted, error) {
	b, err := Kernel(k, cpus)
	if err != nil {
		return nil, err
	}
	c, err := Closure(k)
	if err != nil {
		return nil, err
	}
	lately.Lock()
	defer lately.Unlock()
	if lately.kernel != k || lately.name != name {
		m, err := mutate.Named(c, name)
		if err != nil {
			return nil, err
		}
		lately.kernel, lately.name, lately.patch = k, name, []linux.Patch{{At: m.Addr, Bytes: m.New}}
	}
	return b.Patched(lately.patch)
}
