// Package jumplabel is the kernel's jump labels: nops in text that are turned into jumps and back. It is the plainest
// client of text_poke_bp: no probe, and no breakpoint but the patcher's.
//
// It is a client of the waist and imports nothing of the machine.
//
// Its limits: a label has a key of its own, and is 5 bytes long. text_mutex protects whether it is on: no CPU reads
// the key without it (with mutants that have a key they do: atomic_set_release(enabled) after the text).
package jumplabel
