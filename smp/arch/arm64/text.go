package arm64

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/arch/arm64/arm64asm"
)

// String returns the instruction in the syntax of GNU objdump, with addresses in place of
// displacements. If it has no name in names.go nor in arm64asm, its form names it.
func (in *Inst) String() string {
	if in.form.text != nil {
		if text := in.form.text(in); text != "" {
			return text
		}
	}
	if text := in.secondOpinion(); text != "" {
		return text
	}
	return fmt.Sprintf(".inst %#08x // %s", uint32(in.word), in.form.name)
}

// secondOpinion returns the text that arm64asm has; "" if it has none.
func (in *Inst) secondOpinion() string {
	x, err := arm64asm.Decode(in.Bytes())
	if err != nil || x.Op == 0 {
		return ""
	}
	text := strings.TrimSpace(arm64asm.GNUSyntax(x))
	text = strings.ReplaceAll(strings.ReplaceAll(text, ", ", ","), ",", ", ")
	before, displacement, ok := strings.Cut(text, ".+0x")
	if !ok {
		return text
	}
	offset, err := strconv.ParseUint(displacement, 16, 64)
	if err != nil {
		return text
	}
	base := uint64(in.Addr)
	if x.Op == arm64asm.ADRP {
		base &^= 0xfff
	}
	return fmt.Sprintf("%s%#x", before, base+offset)
}
