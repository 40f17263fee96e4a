package vmlinux

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// bootHeader is the number of bytes of a vmlinuz that suffice to locate the kernel.
const bootHeader = 0x250

// payload locates the compressed kernel in a vmlinuz of size bytes, given its first bytes. n is 0
// for any other file. A vmlinuz is a bzImage of x86, a flat image that was packed with gzip alone,
// or one in a stub of EFI (zboot).
func payload(head []byte, size uint64) (at, n uint64, err error) {
	switch {
	case strings.HasPrefix(string(head), packers[0].magic):
		return 0, size, nil
	case len(head) >= zbootHeader && string(head[4:8]) == "zimg":
		return zboot(head, size)
	}
	return bzImage(head, size)
}

// zbootHeader is the number of bytes of a zboot's header (drivers/firmware/efi/libstub/zboot-header.S).
const zbootHeader = 64

// zboot locates the kernel in a zboot. Its header counts the payload without the size that some
// packers append (packer.sized).
func zboot(head []byte, size uint64) (at, n uint64, err error) {
	le := binary.LittleEndian
	at, n = uint64(le.Uint32(head[8:])), uint64(le.Uint32(head[12:]))
	if kind, _, _ := strings.Cut(string(head[24:zbootHeader-8]), "\x00"); kind != packers[0].name {
		n += 4
	}
	if n < 8 || at > size || size-at < n {
		return 0, 0, fmt.Errorf("header of zboot: the kernel at %#x, %d bytes, ends after the end of the file (%d "+
			"bytes): give the file whole", at, n, size)
	}
	return at, n, nil
}

// bzImage locates the kernel in a bzImage; n is 0 if it is none.
// The offsets are those of the boot protocol (Documentation/arch/x86/boot.rst):
// the header lies in the first sector, the payload counts from the end of the
// setup code.
func bzImage(head []byte, size uint64) (at, n uint64, err error) {
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
