package smp

import "kpsim/smp/arch/x86"

const int3 = 0xcc // want arch

var regs [16]uint64

var (
	size  = 0x90                     // of a buffer
	count = 232                      // which is 0xe8
	nop   = []byte{0x90}             // want arch
	nop3  = []byte{0x0f, 0x1f, 0x00} // want arch
	names = []string{"rax", "rock"}  // want arch
	ret   = regs[x86.RAX]            // want arch
)
