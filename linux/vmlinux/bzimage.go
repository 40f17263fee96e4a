package vmlinux

import (
	"encoding/binary"
	"fmt"
)

// payload returns the compressed kernel inside a vmlinuz, and whether it is one.
// The offsets are those of the boot protocol (Documentation/arch/x86/boot.rst):
// the header lies in the first sector, the payload counts from the end of the
// setup code.
func payload(file []byte) (packed []byte, isBzImage bool, err error) {
	if len(file) < 0x250 || string(file[0x202:0x206]) != "HdrS" {
		return nil, false, nil
	}
	le := binary.LittleEndian
	if v := le.Uint16(file[0x206:]); v < 0x208 {
		return nil, true, fmt.Errorf("boot header: protocol %d.%02d doesn't say where the kernel is: give a vmlinuz of 2.6.24 or later", v>>8, v&0xff)
	}
	setup := uint64(file[0x1f1])
	if setup == 0 {
		setup = 4 // of old boot loaders
	}
	at, n := (setup+1)*512+uint64(le.Uint32(file[0x248:])), uint64(le.Uint32(file[0x24c:]))
	if n < 8 || at > uint64(len(file)) || uint64(len(file))-at < n {
		return nil, true, fmt.Errorf("boot header: the kernel at %#x, %d bytes, ends after the end of the file (%d bytes): give the file whole", at, n, len(file))
	}
	return file[at : at+n], true, nil
}
