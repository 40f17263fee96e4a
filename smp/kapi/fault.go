package kapi

import "fmt"

// A Fault is one that a mutant plants in the code of a client of the waist, or of the kernel below it: there the code
// does something else if Boot.Planted says so. It stands beside the step that it breaks, and its name is its
// mutant's.
type Fault uint8

// FaultInfo is what is known of a fault.
type FaultInfo struct {
	Name   string
	Says   string // what the code then does
	Source string // where a kernel does it right: the function
}

// Faults is a set of faults. It begins empty.
type Faults [4]uint64

var faults []FaultInfo

// DefineFault gives a fault its number. It is for the initialisation of packages; names are unique.
func DefineFault(name, says, source string) Fault {
	for i := range faults {
		if faults[i].Name == name {
			panic(fmt.Sprintf("kapi: there are two faults %q", name))
		}
	}
	faults = append(faults, FaultInfo{name, says, source})
	if len(faults) > 64*len(Faults{}) {
		panic("kapi: too many faults for Faults")
	}
	return Fault(len(faults) - 1)
}

// KnownFaults returns all faults; a Fault is an index.
func KnownFaults() []FaultInfo { return faults }

// Plant adds a fault to the set.
func (s *Faults) Plant(f Fault) { s[f/64] |= 1 << (f % 64) }

// Has reports whether a fault is in the set.
func (s *Faults) Has(f Fault) bool { return s[f/64]>>(f%64)&1 != 0 }
