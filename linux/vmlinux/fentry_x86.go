package vmlinux

import (
	"bytes"
	"encoding/binary"
)

// callsOfFentry returns the calls of __fentry__ at the beginning of functions, after an endbr64
// if present.
func (im *Image) callsOfFentry() []uint64 {
	fentry, ok := im.Symbol("__fentry__")
	if !ok {
		return nil
	}
	var all []uint64
	for _, s := range im.symbols {
		at := s.Addr
		if !s.Func {
			continue
		}
		if b := im.Bytes(at, 4); bytes.Equal(b, []byte{0xf3, 0x0f, 0x1e, 0xfa}) {
			at += 4
		}
		if b := im.Bytes(at, 5); b != nil && b[0] == 0xe8 &&
			(at+5+uint64(int64(int32(binary.LittleEndian.Uint32(b[1:])))))&im.mask == fentry.Addr {
			all = append(all, at)
		}
	}
	return all
}
