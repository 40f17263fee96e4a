package main

import "kpsim/internal/verbs/check"

// disasmCmd is kpsim disasm.
type disasmCmd struct{ check.Disasm }

// Help implements kong.HelpProvider.
func (*disasmCmd) Help() string {
	return `A function's instructions, and what a probe at one of them would replace: DCR, the detoured code region, is the whole instructions that the jump of 5 bytes lies over; JTPR, the jump target prohibition region, is where no jump may lead. In the listing > marks the probe, | the region, and t a jump into it, or to the byte behind JTPR, which kernels prohibit too.

Examples:

  kpsim disasm crc16.ko crc16
  kpsim disasm --at 0x1f crc16.ko crc16
  kpsim disasm second-instruction victim

Exit status: 0, or 2 for bad input.`
}
