package vmlinux

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// The reader of .xz files: their container, in which the filters of ulikunitz/xz are LZMA2 alone,
// while kernels are filtered by x86 besides (undoBCJ). "The .xz File Format", version 1.2.1, has
// the numbers of the sections.

const (
	xzMagic      = "\xfd7zXZ\x00"
	xzFilterX86  = 0x04 // 5.3.2
	xzFilterLZMA = 0x21 // LZMA2, 5.3.1
	xzBlocksMost = 1024
)

// An xzReader reads the blocks of a stream, before x86's filter is undone.
type xzReader struct {
	in    *bytes.Reader
	all   int64  // bytes that in had
	size  uint64 // of what comes out
	check xzCheck

	block  io.Reader // the block that is being read, nil before the next
	blocks []xzBlock
	out    int // bytes read so far
}

// An xzBlock is a part of what came out.
type xzBlock struct {
	begin, end int
	x86        bool
	sum        []byte
}

// An xzCheck is how the bytes of a block are checked (2.1.1.2).
type xzCheck struct {
	size int
	sum  func(b []byte) []byte
}

var xzChecks = map[byte]xzCheck{
	0: {0, func([]byte) []byte { return nil }},
	1: {4, func(b []byte) []byte { return binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(b)) }},
	4: {8, func(b []byte) []byte {
		return binary.LittleEndian.AppendUint64(nil, crc64.Checksum(b, crc64.MakeTable(crc64.ECMA)))
	}},
	10: {sha256.Size, func(b []byte) []byte {
		sum := sha256.Sum256(b)
		return sum[:]
	}},
}

var errXZ = errors.New("damaged, or no .xz file as kernels have it")

// newXZReader reads the header of a stream (2.1.1), of which size bytes are to come.
func newXZReader(in *bytes.Reader, size uint64) (*xzReader, error) {
	r := &xzReader{in: in, all: int64(in.Len()), size: size}
	h, err := r.bytes(len(xzMagic) + 2 + 4)
	if err != nil {
		return nil, err
	}
	flags := h[len(xzMagic):][:2]
	check, known := xzChecks[flags[1]]
	if string(h[:len(xzMagic)]) != xzMagic || flags[0] != 0 || !known || crc32.ChecksumIEEE(flags) != binary.LittleEndian.Uint32(h[len(h)-4:]) {
		return nil, errXZ
	}
	r.check = check
	return r, nil
}

// Read implements io.Reader.
func (r *xzReader) Read(p []byte) (int, error) {
	for range xzBlocksMost {
		if r.block == nil {
			if err := r.begin(); err != nil {
				return 0, err
			}
		}
		n, err := r.block.Read(p)
		r.out += n
		if err == io.EOF {
			err = r.end()
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	return 0, errXZ
}

// begin reads a block's header (3.1). It returns io.EOF where the index begins.
func (r *xzReader) begin() error {
	words, err := r.in.ReadByte()
	switch {
	case err != nil:
		return io.ErrUnexpectedEOF
	case words == 0:
		return io.EOF
	case len(r.blocks) == xzBlocksMost:
		return errXZ
	}
	h, err := r.bytes(4*int(words) + 3)
	if err != nil {
		return err
	}
	sum := crc32.Update(crc32.ChecksumIEEE([]byte{words}), crc32.IEEETable, h[:len(h)-4])
	if sum != binary.LittleEndian.Uint32(h[len(h)-4:]) {
		return errXZ
	}
	dictionary, x86, err := xzFilters(h[:len(h)-4])
	if err != nil {
		return err
	}
	if dictionary > dictionaryMax {
		return fmt.Errorf("dictionary of %d MiB: %w", dictionary>>20, errXZ)
	}
	c := lzma.Reader2Config{DictCap: max(lzma.MinDictCap, int(min(dictionary, r.size)))} // more isn't referred to
	if r.block, err = c.NewReader2(r.in); err != nil {
		return err
	}
	r.blocks = append(r.blocks, xzBlock{begin: r.out, x86: x86})
	return nil
}

// xzFilters reads the filters in a block's header (3.1.5): LZMA2, after x86's or not.
func xzFilters(h []byte) (dictionary uint64, x86 bool, err error) {
	flags, rest := h[0], bytes.NewReader(h[1:])
	const packed, unpacked, filters, reserved = 0x40, 0x80, 0x03, 0x3c
	number := func() uint64 {
		n, failed := binary.ReadUvarint(rest)
		if failed != nil {
			err = errXZ
		}
		return n
	}
	for _, size := range []byte{packed, unpacked} {
		if flags&size != 0 {
			number()
		}
	}
	for left := int(flags & filters); left >= 0 && err == nil; left-- {
		id, size := number(), number()
		switch {
		case id == xzFilterX86 && size == 0 && left == 1:
			x86 = true
		case id == xzFilterLZMA && size == 1 && left == 0:
			b, _ := rest.ReadByte()
			if b >= 40 {
				err = errXZ
			}
			dictionary = (2 | uint64(b&1)) << (b/2 + 11)
		default:
			err = errXZ
		}
	}
	if flags&reserved != 0 {
		err = errXZ
	}
	return dictionary, x86, err
}

// end reads what follows the bytes of a block: padding to four (3.3), and its check.
func (r *xzReader) end() error {
	b := &r.blocks[len(r.blocks)-1]
	if _, err := r.bytes(int(-(r.all - int64(r.in.Len())) & 3)); err != nil {
		return err
	}
	var err error
	b.end = r.out
	b.sum, err = r.bytes(r.check.size)
	r.block = nil
	return err
}

// finish undoes x86's filter in all that was read, and checks it.
func (r *xzReader) finish(out []byte) error {
	for _, b := range r.blocks {
		part := out[b.begin:b.end]
		if b.x86 {
			undoBCJ(part)
		}
		if !bytes.Equal(r.check.sum(part), b.sum) {
			return errXZ
		}
	}
	return nil
}

// bytes reads n bytes.
func (r *xzReader) bytes(n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(r.in, b); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return b, nil
}
