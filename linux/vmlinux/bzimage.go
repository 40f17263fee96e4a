package vmlinux

import (
	"encoding/binary"
	"fmt"
)

// bootHeader is the number of bytes of a vmlinuz that suffice to locate the kernel.
const bootHeader = 0x250

// payload locates the compressed kernel in a vmlinuz of size bytes, given its first bytes. n is 0
// for any other file.
// ones; n is 0 if it is none.
// The offsets are those of the boot protocol (Documentation/arch/x86/boot.rst):
// the header lies in the first sector, the payload counts from the end of the
// setup code.
func payload(head []byte, size uint64) (at, n uint64, err error) {
	if len(head) < bootHeader || string(head[0x202:0x206]) != "HdrS" {
		return 0, 0, nil
	}
	le := binary.LittleEndian
	if v := le.Uint16(head[0x206:]); v < 0x208 {
		return 0, 0, fmt.Errorf("boot header: protocol %d.%02d doesn't say where the kernel is: give a vmlinuz "+
			"of 2.6.24 or later", v>>8, v&0xff)
	}
	setup := uint64(head[0x1f1])
	if setup == 0 {
		setup = 4 // of old boot loaders
	}
	at, n = (setup+1)*512+uint64(le.Uint32(head[0x248:])), uint64(le.Uint32(head[0x24c:]))
	if n < 8 || at > size || size-at < n {
		return 0, 0, fmt.Errorf("boot header: the kernel at %#x, %d bytes, ends after the end of the file (%d "+
			"bytes): give the file whole", at, n, size)
	}
	return at, n, nil
}
