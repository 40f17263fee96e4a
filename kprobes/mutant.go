package kprobes

// Mutants are the steps of the engine that can be left out, doubled or swapped
// on purpose, one switch each. All off is the right engine.
type Mutants struct {
	NoQuiesce bool // the optimizer doesn't wait before it writes jumps (R1, M01)
	FreeEarly bool // the optimizer frees a detour before it waits (R36, M12)
	CancelRCU bool // a detour that was queued but never reached by a jump is freed after an RCU grace period, as kernels do
	_         struct{}
}
