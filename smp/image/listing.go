package image

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// Listing formats code linked at an address, a line for each instruction: address, bytes,
// disassembly. A byte that begins no instruction gets its own line, so that any memory can be
// shown.
func Listing(mode x86.Mode, at arch.Addr, code []byte) string {
	var w strings.Builder
	for len(code) > 0 {
		text, n := fmt.Sprintf(".byte %#02x", code[0]), 1
		if in, err := mode.Decode(code, at); err == nil {
			text, n = in.String(), int(in.Len)
		}
		fmt.Fprintf(&w, "%6x:  %-32s %s\n", uint64(at), fmt.Sprintf("% x", code[:n]), text)
		at, code = at+arch.Addr(n), code[n:]
	}
	return w.String()
}

// CheckDecodes returns an error unless f consists of instructions from its first byte to its
// last, and no exception-table entry lies inside one. The error names the function, the offset
// and the bytes.
func CheckDecodes(f Func) error {
	var starts []int
	for off := 0; off < len(f.Code); {
		in, err := x86.Decode(f.Code[off:], f.Addr+arch.Addr(off))
		if err != nil {
			rest := f.Code[off:]
			return fmt.Errorf("%s+%#x: bytes % x: %w", f.Name, off, rest[:min(len(rest), x86.MaxLen)], err)
		}
		starts = append(starts, off)
		off += int(in.Len)
	}
	for _, off := range f.Extable {
		if _, ok := slices.BinarySearch(starts, off); !ok {
			return fmt.Errorf("%s+%#x: has an exception-table entry, but no instruction begins there", f.Name, off)
		}
	}
	return nil
}
