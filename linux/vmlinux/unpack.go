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
	"github.com/ulikunitz/xz/lzma"

	"kpsim/linux/vmlinux/xz"
)

// Kernels compress to a quarter or an eighth. A payload that expands by more than expandsMost,
// plus gapMost for gaps between sections, is no kernel.
const (
	expandsMost = 20
	gapMost     = 16 << 20
)

// swells reports whether out bytes are too many for a payload of in bytes.
func swells(out, in uint64) bool { return out > gapMost+expandsMost*in }

// The maximum size of a dictionary, in bytes: xz kernels use 32 MiB, and 128 MiB since 6.6.
const dictionaryMax = 128 << 20

// A packer is a compression method of kernels.
type packer struct {
	name, magic string
	open        func(packed *bytes.Reader, size uint64) (io.Reader, error) // nil: not supported
	// the format lacks the size, so four bytes were appended
	sized bool
}

var packers = []packer{
	{"gzip", "\x1f\x8b", func(r *bytes.Reader, _ uint64) (io.Reader, error) { return openGzip(r) }, false},
	{"bzip2", "BZh", func(r *bytes.Reader, _ uint64) (io.Reader, error) { return bzip2.NewReader(r), nil }, true},
	{"xz", xz.Magic, func(r *bytes.Reader, size uint64) (io.Reader, error) {
		return xz.NewReader(r, size, dictionaryMax)
	}, true},
	{"zstd", "\x28\xb5\x2f\xfd", func(r *bytes.Reader, _ uint64) (io.Reader, error) {
		return zstd.NewReader(r, zstd.WithDecoderMaxWindow(dictionaryMax), zstd.WithDecoderConcurrency(1))
	}, true},
	{"lz4", "\x02\x21\x4c\x18", func(r *bytes.Reader, _ uint64) (io.Reader, error) { return lz4.NewReader(r), nil },
		true},
	{"lzma", "\x5d\x00\x00", func(r *bytes.Reader, _ uint64) (io.Reader, error) {
		return lzma.ReaderConfig{DictCap: dictionaryMax}.NewReader(r)
	}, true},
	{"lzo", "\x89LZO", nil, true},
}

// packedBy returns the name of the packer whose data begin so; "" if none's do.
func packedBy(head []byte) string {
	for i := range packers {
		if bytes.HasPrefix(head, []byte(packers[i].magic)) {
			return packers[i].name
		}
	}
	return ""
}

// openGzip reads one member and ignores what follows.
func openGzip(r *bytes.Reader) (io.Reader, error) {
	z, err := gzip.NewReader(r)
	if err == nil {
		z.Multistream(false)
	}
	return z, err
}

// packerOf returns the compression of a payload, and the unpacked size stored in its last four
// bytes.
func packerOf(packed []byte) (p *packer, size uint64, err error) {
	for i := range packers {
		if p = &packers[i]; !bytes.HasPrefix(packed, []byte(p.magic)) {
			continue
		}
		if p.open == nil {
			return nil, 0, fmt.Errorf("the kernel is compressed with %s, which isn't read here: unpack it with "+
				"the kernel's scripts/extract-vmlinux, and give the vmlinux", p.name)
		}
		size = uint64(binary.LittleEndian.Uint32(packed[len(packed)-4:]))
		if size > loadedMax || swells(size, uint64(len(packed))) {
			return nil, 0, fmt.Errorf("%s payload: claims to be %d MiB from %d KiB: the file is cut (get it "+
				"again), or this is no kernel", p.name, size>>20, len(packed)>>10)
		}
		return p, size, nil
	}
	return nil, 0, fmt.Errorf("the kernel is compressed in a way that isn't known here (it begins with % x): "+
		"unpack it with the kernel's scripts/extract-vmlinux, and give the vmlinux", packed[:min(8, len(packed))])
}

// pieceMost is the number of bytes unpacked between two checks.
const pieceMost = 1 << 20

// unpack returns the kernel in a payload. It stops as soon as the data can't be a kernel.
func unpack(packed []byte) ([]byte, error) {
	p, size, err := packerOf(packed)
	if err != nil {
		return nil, err
	}
	if p.sized {
		packed = packed[:len(packed)-4]
	}
	in := bytes.NewReader(packed)
	r, err := p.open(in, size)
	if err != nil {
		return nil, fmt.Errorf("%s payload: %w: get the file again", p.name, err)
	}
	if c, ok := r.(interface{ Close() }); ok {
		defer c.Close() // zstd's decoder; Read reports its errors
	}
	out := make([]byte, size)
	for at := 0; at < len(out); {
		n, err := io.ReadFull(r, out[at:min(at+pieceMost, len(out))])
		if at += n; err != nil {
			return nil, fmt.Errorf("%s payload: stops at byte %d of %d (%w): get the file again", p.name, at, size, err)
		}
		if at <= pieceMost {
			if _, err := executable(out[:at]); err != nil && flatOf(out[:at]) == nil {
				return nil, fmt.Errorf("%s payload: %w", p.name, err)
			}
		}
		if in := len(packed) - in.Len(); swells(uint64(at), uint64(in)) {
			return nil, fmt.Errorf("%s payload: %d KiB of it hold %d MiB: this is no kernel", p.name, in>>10, at>>20)
		}
	}
	if err := ends(r, out); err != nil {
		return nil, fmt.Errorf("%s payload: %w: get the file again", p.name, err)
	}
	return out, nil
}

// ends reads to the end of a payload, where most formats have a checksum.
func ends(r io.Reader, out []byte) error {
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return fmt.Errorf("holds more than the %d bytes that it says", len(out))
	case err != io.EOF:
		return err
	}
	if x, ok := r.(*xz.Reader); ok {
		return x.Finish(out)
	}
	return nil
}
