package mutants

// A Story is a row of history that no mutant brings back.
type Story struct {
	Row string // as in Mutant.Source
	Why string // why it can't show in this machine
	_   struct{}
}

// Absent has the rows of history without a mutant, each with the reason: the broken part doesn't exist in this
// machine.
var Absent = []Story{
	{Row: "R43, M14: the jump back is written into a slot that others step",
		Why: `That is a setting of the right engine, boost = "stepped", as in 2.6 to 5.12. The jump is written ` +
			"after the copy. A CPU in the slot meanwhile steps the copy with TF set, and #DB comes after the " +
			"copy's last byte, before the next bytes are fetched. A CPU that is sent there to run the jump arrives " +
			"by an IRET after the store, which serialises; processors with FRED came later than these kernels."},
	{Row: "K8: the pointer to the holder is read torn, or stale",
		Why: "Data accesses take effect whole and in the order in which they are stepped (doc.go, Limits); a " +
			"pointer is one word. A wrong order of the steps themselves is holder-refs."},
	{Row: "K1, K2, M49: a function that is called under the locks of return probes is return-probed",
		Why: "The kernel's own routines are Go here and call no text, so they can't be probed. The same deadlock " +
			"by an interrupt or an NMI under the lock is open-spinlocks and lock-in-nmi."},
}
