package boot

import (
	"fmt"

	"kpsim/engine"
	"kpsim/engine/all"
	"kpsim/linux"
	"kpsim/smp/arch/target"
)

func init() {
	linux.Row.Guest = guest
	all.Rows = append(all.Rows, &linux.Row)
}

// guest returns the booted kernel of an order.
func guest(o engine.Order) (engine.Guest, error) {
	k, err := Given(o.Image)
	if err != nil {
		return nil, err
	}
	if k.Processor != target.Processor(o.Arch) {
		return nil, fmt.Errorf("it is for %s, and the kernel %s for %s; give a kernel of %s", target.Words[o.Arch],
			k.Image.Release, target.Words[k.Processor], target.Words[o.Arch])
	}
	b, err := Kernel(k, o.CPUs)
	if o.Mutant != "" {
		b, err = Mutant(k, o.CPUs, o.Mutant)
	}
	if err == nil && o.Clients {
		b, err = b.OwnClients()
	}
	if err != nil {
		return nil, err
	}
	return &linux.Settings{Kernel: k, From: b, Clients: o.Clients}, nil
}
