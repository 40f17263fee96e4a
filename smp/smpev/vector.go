package smpev

import "fmt"

var vectorNames = [256]string{
	VecDE: "#DE", VecDB: "#DB", VecNMI: "NMI", VecBP: "#BP", VecOF: "#OF", VecBR: "#BR", VecUD: "#UD",
	VecDF: "#DF", VecGP: "#GP", VecPF: "#PF",
	VecTimer: "timer interrupt", VecResch: "reschedule interrupt", VecCall: "call IPI",
}

// Vector names a vector for people: an exception as the manuals do (SDM 3A, table 6-1), an
// interrupt by what it is for.
func Vector(v uint64) string {
	if v == VecGarbage {
		return "what isn't to be executed"
	}
	if v < uint64(len(vectorNames)) && vectorNames[v] != "" {
		return vectorNames[v]
	}
	return fmt.Sprintf("vector %#x", v)
}
