package vmlinux

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/xi2/xz"
)

// Kernels shrink to a quarter or so; a payload that claims much more is no kernel.
// Without this a small file could ask for much memory.
const ratioMax = 100

// The largest dictionary: xz kernels use 32 MiB, or 128 MiB since 6.6.
const dictionaryMax = 128 << 20

// A packer is a way in which kernels are compressed.
type packer struct {
	name, magic string
	open        func(packed io.Reader) (io.Reader, error) // nil: can't be read here
	sized       bool                                      // the format doesn't end with its size, so that four bytes were appended
}

var packers = []packer{
	{"gzip", "\x1f\x8b", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }, false},
	{"bzip2", "BZh", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }, true},
	{"xz", "\xfd7zXZ\x00", func(r io.Reader) (io.Reader, error) { return xz.NewReader(r, dictionaryMax) }, true},
	{"zstd", "\x28\xb5\x2f\xfd", func(r io.Reader) (io.Reader, error) {
		return zstd.NewReader(r, zstd.WithDecoderMaxWindow(dictionaryMax), zstd.WithDecoderConcurrency(1))
	}, true},
	{"lz4", "\x02\x21\x4c\x18", func(r io.Reader) (io.Reader, error) { return lz4.NewReader(r), nil }, true},
	{"lzma", "\x5d\x00\x00", nil, true},
	{"lzo", "\x89LZO", nil, true},
}

// unpack returns the kernel inside a payload. Its last four bytes are the size
// of what comes out.
func unpack(packed []byte) ([]byte, error) {
	for _, p := range packers {
		if !bytes.HasPrefix(packed, []byte(p.magic)) {
			continue
		}
		if p.open == nil {
			return nil, fmt.Errorf("the kernel is compressed with %s, which isn't read here: unpack it with the kernel's scripts/extract-vmlinux, and give the vmlinux", p.name)
		}
		n := uint64(binary.LittleEndian.Uint32(packed[len(packed)-4:]))
		if n > loadedMax || n > ratioMax*uint64(len(packed)) {
			return nil, fmt.Errorf("%s payload: claims to be %d MiB from %d KiB: this is no kernel", p.name, n>>20, len(packed)>>10)
		}
		if p.sized {
			packed = packed[:len(packed)-4]
		}
		r, err := p.open(bytes.NewReader(packed))
		if err != nil {
			return nil, fmt.Errorf("%s payload: %w: get the file again", p.name, err)
		}
		out := make([]byte, n)
		if got, err := io.ReadFull(r, out); err != nil {
			return nil, fmt.Errorf("%s payload: stops at byte %d of %d (%w): get the file again", p.name, got, n, err)
		}
		return out, nil
	}
	return nil, fmt.Errorf("the kernel is compressed in a way that isn't known here (it begins with % x): unpack it with the kernel's scripts/extract-vmlinux, and give the vmlinux", packed[:min(8, len(packed))])
}
