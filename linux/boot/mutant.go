package boot

import (
	"sync"

	"kpsim/linux"
	"kpsim/linux/mutate"
)

// lately is the last mutant: a search asks for it again and again.
var lately struct {
	sync.Mutex
	kernel *linux.Kernel
	name   string
	patch  []linux.Patch
}

// Mutant is Kernel for a kernel with a fault (package mutate), by its name. It boots without the fault, which is
// there from the first step of a run on.
func Mutant(k *linux.Kernel, cpus int, name string) (*linux.Booted, error) {
	b, err := Kernel(k, cpus)
	if err != nil {
		return nil, err
	}
	lately.Lock()
	defer lately.Unlock()
	if lately.kernel != k || lately.name != name {
		m, err := mutate.Named(k.Closure, name)
		if err != nil {
			return nil, err
		}
		lately.kernel, lately.name, lately.patch = k, name, []linux.Patch{{At: m.Addr, Bytes: m.New}}
	}
	return b.Patched(lately.patch)
}
