package change

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// endbr64 begins a function that may be called by its address.
const endbr64 = "\xf3\x0f\x1e\xfa"

// padding reports whether an instruction at a function's end is there for what follows it:
// endbr64 is of the next function.
func padding(in *x86.Inst) bool {
	raw := in.Raw()
	return in.IsNop() || in.Flow() == arch.FlowBreakpoint || string(raw[:len(endbr64)]) == endbr64
}
