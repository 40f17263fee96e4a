package change

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// endbr64 begins a function whose address may be taken.
const endbr64 = "\xf3\x0f\x1e\xfa"

// padding reports whether an instruction at a function's end belongs to what follows it: endbr64
// belongs to the next function.
func padding(in *x86.Inst) bool {
	raw := in.Raw()
	return in.IsNop() || in.Flow() == arch.FlowBreakpoint || string(raw[:len(endbr64)]) == endbr64
}
