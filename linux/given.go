package linux

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"kpsim/linux/closure"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

var (
	givenMutex sync.Mutex
	given      []*Kernel
)

// Give makes a kernel known to the process, so that scenarios with engine linux run it. It
// may be called by any goroutine.
func Give(k *Kernel) {
	givenMutex.Lock()
	defer givenMutex.Unlock()
	given = append(given, k)
}

// Take makes a kernel unknown again. It may be called by any goroutine.
func Take(k *Kernel) {
	givenMutex.Lock()
	defer givenMutex.Unlock()
	given = slices.DeleteFunc(given, func(g *Kernel) bool { return g == k })
}

// Given returns the kernel with an ID, or for "" the one given last. It may be called by any
// goroutine.
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
		return nil, fmt.Errorf("it runs the kernel %s, and --kernel gives %s; give the file that it was", id,
			given[len(given)-1].ID())
	}
	release, parts, _ := strings.Cut(id, " ")
	if strings.Count(parts, " ") > 1 {
		return nil, fmt.Errorf("it runs the kernel %s with objects laid over it; give both, with --kernel FILE "+
			"--objects FILE,…", id)
	}
	option := ""
	if of := closure.Family(release); of != "" {
		option = "-a " + of + " "
	}
	return nil, fmt.Errorf("it runs the kernel %s, whose file isn't at hand; give it with --kernel FILE, or "+
		"fetch it: scripts/fetch-kernel %slinux-image-%s", id, option, release)
}

// A Patch is a change of bytes of a kernel's text: a fault injected on purpose.
type Patch struct {
	At    uint64
	Bytes []byte
}

// Patched returns a copy of the booted kernel with some of its text changed. Both share all
// other pages.
func (b *Booted) Patched(list []Patch) (*Booted, error) {
	changed := *b
	changed.images = append([]*kapi.Image(nil), b.images...)
	for _, p := range list {
		for i := range p.Bytes {
			if err := changed.patch(arch.Addr(p.At)+arch.Addr(i), p.Bytes[i], b); err != nil {
				return nil, err
			}
		}
	}
	return &changed, nil
}

// OwnClients returns a copy of the booted kernel whose ftrace has clients of its own (Settings.Clients).
func (b *Booted) OwnClients() (*Booted, error) { return b.Patched(b.Kernel.records.clients.text) }

// patch changes one byte. If its page is still shared, b gets a copy of the page first.
func (b *Booted) patch(at arch.Addr, v byte, was *Booted) error {
	for i, im := range b.images {
		if at < im.At || at >= im.At+arch.Addr(im.Size) {
			continue
		}
		if !im.Exec {
			break
		}
		n := int(at-im.At) / page
		if im == was.images[i] {
			own := *im
			own.Over = make(map[int]*[page]byte, len(im.Over)+1)
			for k := range im.Size / page {
				if o := im.Over[k]; o != nil {
					own.Over[k] = o
				}
			}
			im = &own
			b.images[i] = im
		}
		own := new([page]byte)
		if o := im.Over[n]; o != nil {
			*own = *o
		} else if n*page < len(im.Bytes) {
			copy(own[:], im.Bytes[n*page:])
		}
		own[int(at-im.At)%page] = v
		im.Over[n] = own
		return nil
	}
	return fmt.Errorf("%#x is no text of the kernel", uint64(at))
}
