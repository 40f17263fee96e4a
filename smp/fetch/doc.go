// Package fetch says which bytes of text a CPU may see while other CPUs store
// to it.
//
// # What it is not
//
// It is not a specification, and not a model of any processor: no caches, no
// prefetch window, no pipeline, no garbage. The manuals promise something only
// to code that synchronises (Intel SDM vol. 3, "Handling Self- and
// Cross-Modifying Code"; AMD APM vol. 2, "Self-Modifying Code" and
// "Cross-Modifying Code"), and for the rest a patcher relies on what
// processors have been seen to do. This package takes what may be relied on,
// makes of the rest a set of choices, and lets a strategy choose. Code that
// works under mixing doesn't therefore work everywhere; code that fails under
// stale relies on something that no vendor promises.
//
// It knows no instructions, and no machine. Env answers how long an instruction is and
// what memory holds; the machine calls Serialise when a CPU serialises.
//
// # The model
//
// Text is divided into chunks of eight aligned bytes. Stores are in one order.
// Each makes a new version of the chunks that it touches; nothing is ever
// forgotten. A CPU has a floor for each chunk, or for each byte of it; it may see
// the version at the floor, and each newer one.
//
//	                bp        tail      head
//	        ────────┼─────────┼─────────┼────────► stores
//	chunk    66 90  │  cc 90  │  cc 10  │  eb 10
//	byte 0   66     │  cc               │  eb
//	byte 1   90               │  10
//
//	                    ▲ floor of CPU 1: it serialised here, or
//	                    │ what it fetched last is of this version
//
//	chunk    gone   │  may be seen ──────────────►
//	byte 0   gone   │  may be seen ──────────────►
//	byte 1   may be seen ────────────────────────►
//
// Two things raise a floor, and nothing lowers it:
//
//   - serialising raises the floors of all text to now;
//   - fetching a version raises the floor of that chunk (or byte) to it.
//
// The models:
//
//   - coherent: the newest version of each byte, in one read an instruction.
//     What a simple emulator does, and no processor with a pipeline.
//   - stale: a chunk has one floor, and is read once an instruction. All bytes
//     of one instruction that are taken from one chunk are of one version.
//   - mixing: each byte has its own floor, so a chunk may be read again within
//     one instruction. AMD's manual says of asynchronous modification that a
//     quadword may be read more than once while an instruction is taken out of
//     it; this is that, and somewhat more.
//
// The CPU that stores is no exception. It stores through another mapping, as
// text_poke does, and then not even a jump would show it its own bytes.
//
// A CPU serialises at
//
//	IRET, CPUID, SERIALIZE, MOV to CR, sync_core, a change of address space
//
// (SDM vol. 3, "Serializing Instructions"; a processor with FRED returns from events by
// ERETS instead, which doesn't serialise), and not at
//
//	the entry of an interrupt, a taken branch, a lock prefix, a fence (MFENCE,
//	LFENCE, SFENCE), a switch between kernel threads
//
// The machine knows these, and calls Serialise at the former only.
//
// # An example, with all its outcomes
//
// A two-byte nop, 66 90, becomes a short jump, eb 10. A ret, c3, stands after
// it. CPU 0 patches in the order of text_poke_bp; CPU 1 comes by.
//
//	CPU 0                       CPU 1
//	bp:    store cc to byte 0
//	s                           serialises
//	tail:  store 10 to byte 1
//	s                           serialises
//	head:  store eb to byte 0
//	s                           serialises
//	                            fetches and runs
//
// What CPU 1 may run if it comes by after the last step named on the left.
// Steps that aren't named were left out; [!] marks a blend, which is neither
// the old instruction, nor the new one, nor a breakpoint.
//
//	steps done              stale, in one chunk   stale, across two chunks;
//	                                              mixing, anywhere
//	bp                      66 90  cc             66 90  cc
//	bp s                    cc                    cc
//	bp tail                 66 90  cc             66 90  cc  66 10 c3 [!]
//	bp s tail               cc                    cc
//	bp tail head            66 90  cc  eb 10      66 90  cc  eb 10
//	                                              66 10 c3 [!]  eb 90 [!]
//	bp s tail head          cc  eb 10             cc  eb 10  eb 90 [!]
//	bp s tail s head        cc  eb 10             cc  eb 10
//	bp s tail s head s      eb 10                 eb 10
//
// The first sync keeps the old head from a new tail, the second the new head
// from an old tail, the third ends the breakpoints. The blend 66 10 c3, adc
// bl, al, is longer than what it is blended from: it has eaten the ret. Under
// coherent CPU 1 runs what memory holds: cc up to head, then eb 10. These
// lines are rows of the table in litmus_test.go.
//
// # Guarantees
//
// In each model:
//
//   - A store of one byte doesn't tear: that byte is the old or the new one.
//   - A CPU that has serialised since a store sees it, or something newer.
//   - What a CPU has seen of a byte doesn't go back: after the second A of A, B,
//     A it doesn't see B. (Whether it was the second, it can't tell at once.)
//   - A CPU is asked to choose only about what the instruction it fetches
//     really uses, and only if there are two things to see. If MayBeStale says
//     no, every fetch sees memory.
//   - Alternative 0 is the newest version. A run in which each choice is 0 is a
//     run under coherent.
//   - What may be seen under coherent may be seen under stale, and that under
//     mixing.
//
// Under stale also:
//
//   - A store inside one chunk doesn't tear, of whatever size.
//   - A CPU that has seen a store to a chunk sees what was stored to that chunk
//     before.
//
// # Anti-guarantees
//
//   - It must not be assumed that a CPU sees stores to two chunks in the order
//     in which they were done; under mixing, to two bytes.
//   - It must not be assumed that a CPU sees as text what it has loaded as data,
//     or the other way about: a flag says nothing of a fetch.
//   - It must not be assumed that staleness ends by itself. A CPU that never
//     serialises may see the first version for ever.
//   - It must not be assumed that a trap shows the handler fresh text. Entering
//     it doesn't serialise; leaving it by IRET does, by ERETS it doesn't.
//   - It must not be assumed that what one CPU has seen, another one sees.
//   - It must not be assumed that an instruction which spans chunks is read at
//     one moment, in any model but coherent.
//
// # Limits
//
// Processors with the erratum "Unsynchronized Cross-Modifying Code Operations
// Can Cause Unexpected Instruction Execution Results" may do anything at all;
// here they do one of the above. SDM's first recipe for self-modifying code,
// a jump after the store, counts for nothing here. Instructions that were
// fetched but not yet run are not modelled apart: a stale fetch stands for
// them.
package fetch
