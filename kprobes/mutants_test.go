package kprobes_test

import (
	"kpsim/kprobes"
	"kpsim/kprobes/mutants"
	"kpsim/smp/kernel"
)

// The tests inside the package can't import its mutants.
func init() {
	kprobes.ApplyMutant = func(name string, k *kernel.Kernel, d *kprobes.Deps, s *kprobes.Settings) bool {
		return mutants.Apply(name, &mutants.Wiring{Kernel: k, Deps: d, Engine: s})
	}
}
