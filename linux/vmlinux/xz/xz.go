package xz

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

const (
	// Magic is the beginning of a stream.
	Magic      = "\xfd7zXZ\x00"
	filterX86  = 0x04 // 5.3.2
	filterLZMA = 0x21 // LZMA2, 5.3.1
	blocksMost = 1024
)

// A Reader reads the blocks of a stream, before x86's filter is undone.
type Reader struct {
	in    *bytes.Reader
	all   int64  // the length of in
	size  uint64 // of the output
	most  uint64 // the largest dictionary
	check check

	now    io.Reader // the block that is being read, nil before the next
	blocks []block
	out    int // bytes read so far
}

// A block is a part of the output.
type block struct {
	begin, end int
	x86        bool
	sum        []byte
}

// A check is how the bytes of a block are checked (2.1.1.2).
type check struct {
	size int
	sum  func(b []byte) []byte
}

var checks = map[byte]check{
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

var errDamaged = errors.New("damaged, or no .xz file as kernels have it")

// NewReader reads the header of a stream (2.1.1) with size bytes of output. It refuses a
// dictionary of more than most bytes.
func NewReader(in *bytes.Reader, size, most uint64) (*Reader, error) {
	r := &Reader{in: in, all: int64(in.Len()), size: size, most: most}
	h, err := r.bytes(len(Magic) + 2 + 4)
	if err != nil {
		return nil, err
	}
	flags := h[len(Magic):][:2]
	how, known := checks[flags[1]]
	if string(h[:len(Magic)]) != Magic || flags[0] != 0 || !known ||
		crc32.ChecksumIEEE(flags) != binary.LittleEndian.Uint32(h[len(h)-4:]) {
		return nil, errDamaged
	}
	r.check = how
	return r, nil
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	for range blocksMost {
		if r.now == nil {
			if err := r.begin(); err != nil {
				return 0, err
			}
		}
		n, err := r.now.Read(p)
		r.out += n
		if err == io.EOF {
			err = r.end()
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	return 0, errDamaged
}

// begin reads a block's header (3.1). It returns io.EOF where the index begins.
func (r *Reader) begin() error {
	words, err := r.in.ReadByte()
	switch {
	case err != nil:
		return io.ErrUnexpectedEOF
	case words == 0:
		return io.EOF
	case len(r.blocks) == blocksMost:
		return errDamaged
	}
	h, err := r.bytes(4*int(words) + 3)
	if err != nil {
		return err
	}
	sum := crc32.Update(crc32.ChecksumIEEE([]byte{words}), crc32.IEEETable, h[:len(h)-4])
	if sum != binary.LittleEndian.Uint32(h[len(h)-4:]) {
		return errDamaged
	}
	dictionary, x86, err := filters(h[:len(h)-4])
	if err != nil {
		return err
	}
	if dictionary > r.most {
		return fmt.Errorf("dictionary of %d MiB: %w", dictionary>>20, errDamaged)
	}
	c := lzma.Reader2Config{DictCap: max(lzma.MinDictCap, int(min(dictionary, r.size)))} // the output refers to no more
	if r.now, err = c.NewReader2(r.in); err != nil {
		return err
	}
	r.blocks = append(r.blocks, block{begin: r.out, x86: x86})
	return nil
}

// filters reads the filters in a block's header (3.1.5): LZMA2, after x86's or not.
func filters(h []byte) (dictionary uint64, x86 bool, err error) {
	flags, rest := h[0], bytes.NewReader(h[1:])
	const packed, unpacked, last, reserved = 0x40, 0x80, 0x03, 0x3c
	number := func() uint64 {
		n, failed := binary.ReadUvarint(rest)
		if failed != nil {
			err = errDamaged
		}
		return n
	}
	for _, size := range []byte{packed, unpacked} {
		if flags&size != 0 {
			number()
		}
	}
	for left := int(flags & last); left >= 0 && err == nil; left-- {
		id, size := number(), number()
		switch {
		case id == filterX86 && size == 0 && left == 1:
			x86 = true
		case id == filterLZMA && size == 1 && left == 0:
			b, _ := rest.ReadByte()
			if b >= 40 {
				err = errDamaged
			}
			dictionary = (2 | uint64(b&1)) << (b/2 + 11)
		default:
			err = errDamaged
		}
	}
	if flags&reserved != 0 {
		err = errDamaged
	}
	return dictionary, x86, err
}

// end reads the end of a block: padding to four (3.3), and its check.
func (r *Reader) end() error {
	b := &r.blocks[len(r.blocks)-1]
	if _, err := r.bytes(int(-(r.all - int64(r.in.Len())) & 3)); err != nil {
		return err
	}
	var err error
	b.end = r.out
	b.sum, err = r.bytes(r.check.size)
	r.now = nil
	return err
}

// Finish undoes x86's filter in all that was read, and checks it.
func (r *Reader) Finish(out []byte) error {
	for _, b := range r.blocks {
		part := out[b.begin:b.end]
		if b.x86 {
			undoBCJ(part)
		}
		if !bytes.Equal(r.check.sum(part), b.sum) {
			return errDamaged
		}
	}
	return nil
}

// bytes reads n bytes.
func (r *Reader) bytes(n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(r.in, b); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return b, nil
}
