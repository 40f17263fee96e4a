package linux

import (
	"flag"
	"slices"

	"kpsim/smp/kapi"
)

// Twice has a service done twice.
func (k *Kernel) Twice(name string) int {
	return k.wrap(name, func(do service1, e *Linux, x kapi.Context, a *args) uint64 {
		do(e, x, a)
		return do(e, x, a)
	})
}

// Without has a service do nothing.
func (k *Kernel) Without(name string) int {
	return k.wrap(name, func(service1, *Linux, kapi.Context, *args) uint64 { return 0 })
}

// At has a service answer with an address, whatever it is asked, but for the boot.
func (k *Kernel) At(name string, at uint64) int {
	return k.wrap(name, func(do service1, e *Linux, x kapi.Context, a *args) uint64 {
		if e.booting {
			return do(e, x, a)
		}
		return at
	})
}

// Shorter has kmalloc's memory end 16 bytes early; Atomic has it called with preemption off.
func (k *Kernel) Shorter(name string) int {
	return k.wrap(name, func(do service1, e *Linux, x kapi.Context, a *args) uint64 {
		b := *a
		b[2] -= 16 // of a cache
		return do(e, x, &b)
	})
}

func (k *Kernel) Atomic(name string) int { // see Shorter
	return k.wrap(name, func(do service1, e *Linux, x kapi.Context, a *args) uint64 {
		e.count(x, 1)
		v := do(e, x, a)
		e.count(x, -1)
		return v
	})
}

type service1 = func(e *Linux, x kapi.Context, a *args) uint64

func (k *Kernel) wrap(name string, with func(do service1, e *Linux, x kapi.Context, a *args) uint64) (n int) {
	for i, s := range k.services {
		if s.name == name && s.watch == nil {
			c := *s.served
			c.do = func(e *Linux, x kapi.Context, a *args) uint64 { return with(s.do, e, x, a) }
			k.services[i] = &service{name: name, served: &c}
			n++
		}
	}
	return n
}

// Handled returns the kernel with a function of its own in the place of each pre_handler.
func (k *Kernel) Handled(name string) *Kernel {
	other, _ := k.instead(func(s *service, do doing) doing {
		return func(e *Linux, x kapi.Context, a *args) uint64 {
			for _, p := range e.users.list {
				if p.here && get(x, p.at, e.k.fields.kprobe.pre) == uint64(e.users.gates.pre) {
					set(x, p.at, e.k.fields.kprobe.pre, uint64(e.k.at(name)))
				}
			}
			return do(e, x, a)
		}
	})
	return other
}

// KgdbFirst makes the kernel one that is built with CONFIG_KGDB_LOW_LEVEL_TRAP.
func (k *Kernel) KgdbFirst() { k.config.kgdbFirst = true }

// Unserve takes a service out of the table, until it is put back.
func Unserve(name string) (putBack func()) {
	was := boundary
	boundary = slices.DeleteFunc(slices.Clone(was), func(s served) bool { return slices.Contains(s.names, name) })
	return func() { boundary = was }
}

// UpdateAnswers is -update-answers.
var UpdateAnswers = flag.Bool("update-answers", false, "write the answers anew")
