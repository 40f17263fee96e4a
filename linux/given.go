package linux

import (
	"fmt"
	"strings"
	"sync"
)

var (
	givenMutex sync.Mutex
	given      []*Kernel
)

// Give makes a kernel known to the process: scenarios with engine linux run it. It may
// be called by any goroutine.
func Give(k *Kernel) {
	givenMutex.Lock()
	defer givenMutex.Unlock()
	given = append(given, k)
}

// Given returns the kernel of an ID, for "" the one that was given last. It may be called
// by any goroutine.
func Given(id string) (*Kernel, error) {
	givenMutex.Lock()
	defer givenMutex.Unlock()
	for i := len(given) - 1; i >= 0; i-- {
		if id == "" || given[i].ID() == id {
			return given[i], nil
		}
	}
	switch {
	case id == "":
		return nil, fmt.Errorf("engine linux is a kernel's own; give the kernel's file with --kernel FILE")
	case len(given) > 0:
		return nil, fmt.Errorf("it runs the kernel %s, and --kernel gives %s; give the file that it was", id, given[len(given)-1].ID())
	}
	release, parts, _ := strings.Cut(id, " ")
	if strings.Count(parts, " ") > 1 {
		return nil, fmt.Errorf("it runs the kernel %s with objects laid over it; give both, with --kernel FILE --objects FILE,…", id)
	}
	return nil, fmt.Errorf("it runs the kernel %s, whose file isn't at hand; give it with --kernel FILE, or fetch it: scripts/fetch-kernel linux-image-%s", id, release)
}
