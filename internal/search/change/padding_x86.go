package change

import (
	"kpsim/smp/arch"
)

// endbr64 begins a function whose address may be taken.
const endbr64 = "\xf3\x0f\x1e\xfa"

// padding reports whether an instruction at a function's end belongs to what follows it: endbr64
// belongs to the next function.
func padding(in arch.Inst) bool {
	return in.IsNop() || in.Flow() == arch.FlowBreakpoint || string(in.Bytes()) == endbr64
}
