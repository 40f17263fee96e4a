// Package jumplabel is the kernel's jump labels: nops in text that are turned into
// jumps and back, the plainest client of text_poke_bp: no probe, and no breakpoint
// but the patcher's.
//
// It is a client of the waist and imports nothing of the machine.
//
// Its limits: a label has a key of its own, and is 5 bytes long. Whether it is on is
// text_mutex's: no CPU reads the key beside (mutants with a key do: atomic_set_release(enabled)
// after the text).
package jumplabel
