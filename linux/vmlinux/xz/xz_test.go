package xz

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// unpack returns what is in a file of whose content so many bytes are known to be.
func unpack(file []byte, size int) ([]byte, error) {
	r, err := NewReader(bytes.NewReader(file), uint64(size), 1<<20)
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(r, int64(size)+1))
	switch {
	case err != nil:
		return nil, err
	case len(out) > size:
		return nil, fmt.Errorf("more than %d bytes", size)
	case len(out) < size:
		return nil, io.ErrUnexpectedEOF
	}
	return out, r.Finish(out)
}

// x86's filter of xz is undone, in more than one block, and its check holds.
func TestFilterX86(t *testing.T) {
	file, err := os.ReadFile("testdata/x86.xz") // xz --check=crc32 --block-size=12288 --x86 --lzma2=preset=9,dict=64KiB
	require.NoError(t, err)
	want := make([]byte, 32<<10) // opcodes of calls and jumps, and distances that look like these
	r := rand.New(rand.NewChaCha8([32]byte{'b', 'c', 'j'}))
	for i := range want {
		const of = "\xe8\xe9\x00\xff\x01\x80\x7f\x90"
		want[i] = of[r.IntN(len(of))]
	}
	got, err := unpack(file, len(want))
	require.NoError(t, err)
	require.Equal(t, sha256.Sum256(want), sha256.Sum256(got))

	_, err = unpack(file, len(want)-1)
	require.ErrorContains(t, err, "more than 32767 bytes")
	_, err = unpack(file, len(want)+1)
	require.Error(t, err)
	index := len(file) - 36                       // it isn't read
	for at := 0; at < index; at += 1 + at/64*37 { // each byte of the headers, and some after them
		damaged := append([]byte(nil), file...)
		damaged[at] ^= 0x10
		if got, err := unpack(damaged, len(want)); err == nil { // a bit that isn't used
			require.Equal(t, want, got, "byte %d", at)
		}
	}
}
