// Package native holds no code but tests: they compare Exec, instruction by
// instruction, with real processors.
//
// The forms are taken from the decoder, so that a new instruction is compared
// as soon as it is executed (form). Of each form many encodings are drawn, and
// of each encoding registers, flags and memory, mostly at values where results
// change their kind (encode, cases). Exec goes first, and what would be unsafe
// to try, or can't be compared, is dropped (ours). Then the rival: registers,
// IP, defined flags, the exception, the address of a page fault and all memory
// must be the same (pair). Where processors differ among themselves is said in
// one place (vendors).
//
// Rivals are the processor that the test runs on, linux/amd64, in 64-bit mode and in 32-bit mode by
// a far jump (host, child), and a program built by gcc -m32 (record). There fs and gs have bases
// from a local descriptor table. Where the kernel doesn't let user code set bases by FSGSBASE,
// arch_prctl does, and where it runs no code of 32 bits, that mode isn't compared, which the test
// prints and .ci/run shows. What they answered is recorded as a digest by opcode, and compared on
// every computer (recorded). After a change of what is executed:
//
//	go test ./smp/arch/x86/native -run TestRecorded -native.record
//
// Its limits: what user mode can't do isn't compared; see unfit.
package native
