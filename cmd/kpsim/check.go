package main

import "kpsim/internal/verbs/check"

// checkCmd is kpsim check.
type checkCmd struct{ check.Check }

// Help implements kong.HelpProvider.
func (*checkCmd) Help() string {
	return `What a kernel says when the instructions of an object are to be probed: whether register_kprobe takes the address, or the errno; whether the step is boosted; whether a jump may replace the breakpoint; and why not. The object is seen as the kernel has it after loading: linked, with its alternatives, fentry sites and returns patched.

Examples:

  kpsim check crc16.ko
  kpsim check --func crc16 crc16.ko
  kpsim check --profile k61 --json ext4.ko
  kpsim check --edition 4.15 --config RETPOLINE mine.o
  kpsim check --html crc16.html crc16.ko
  kpsim check --all hex.star

In the tables, probe is how a probe is done: int3; emul, an int3 whose step the kernel does itself; ftrace; at +0x4, behind an endbr64; or the errno. Offsets in reasons are of the function. f#2 is the second function called f.

With --json a line has:

` + check.RowHelp + `

Exit status: 0, or 2 for bad input.`
}
