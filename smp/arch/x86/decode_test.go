package x86_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// describe is a line of testdata/decode.txt: the length and what Decode says.
func describe(in *x86.Inst) string {
	words := []string{fmt.Sprint(in.Len), in.Flow().String()}
	if at, ok := in.Target(); ok {
		words = append(words, fmt.Sprintf("to %#x", at))
	}
	if pos, ok := in.RIPRelative(); ok {
		at, _ := in.RIPOperand()
		words = append(words, fmt.Sprintf("rip@%d=%#x", pos, at))
	}
	for _, flag := range []struct {
		is   bool
		name string
	}{{in.Emulated(), "emulated"}, {in.WritesIF(), "writes-if"},
		{in.MasksTraps(), "masks-traps"}, {in.Unsupported(), "unsupported"}} {
		if flag.is {
			words = append(words, flag.name)
		}
	}
	return strings.Join(words, " ") + " | " + in.String()
}

// TestDecodeTable: each line of decode.txt and decode32.txt is bytes, a colon, and
// what becomes of them at address 0x1000.
func TestDecodeTable(t *testing.T) {
	t.Run("64", func(t *testing.T) { checkTable(t, x86.Mode64, "testdata/decode.txt") })
	t.Run("32", func(t *testing.T) { checkTable(t, x86.Mode32, "testdata/decode32.txt") })
}

func checkTable(t *testing.T, mode x86.Mode, file string) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		code, want, _ := strings.Cut(line, " : ")
		b, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(code), " ", ""))
		require.NoError(t, err, line)
		got := ""
		if in, err := mode.Decode(b, textAt); err != nil {
			got = "error " + strings.TrimPrefix(err.Error(), "isa: ")
		} else {
			got = describe(&in)
		}
		if got != strings.TrimSpace(want) {
			t.Errorf("%s\n got %s\nwant %s", code, got, want)
		}
	}
}

// TestTruncated: no proper prefix of an instruction decodes.
func TestTruncated(t *testing.T) {
	for _, code := range []string{"e800000000", "488b05aabbccdd", "f30f1efa", "0f1f440000", "48b8f0debc9a78563412",
		"c5f877",
		"0f01ca", "66f30f1efa", "8184248000000001000000", "0f84aabbccdd", "62f17c4858c1", "8fe97891c0", "0f0f440000bf",
		"660f78c00102"} {
		b, err := hex.DecodeString(code)
		require.NoError(t, err)
		_, err = x86.Decode(b, textAt)
		require.NoError(t, err, code)
		for n := range b {
			_, err := x86.Decode(b[:n], textAt)
			require.ErrorIs(t, err, x86.ErrTruncated, "%x", b[:n])
		}
	}
}

// TestLimit: fifteen bytes are an instruction, sixteen aren't, and nothing
// after an instruction is looked at.
func TestLimit(t *testing.T) {
	for _, code := range []string{"90", "c3", "0f1f840000000000", "48b8f0debc9a78563412", "f30f1efa", "0f3a0fc001"} {
		b, err := hex.DecodeString(code)
		require.NoError(t, err)
		for n := range 20 {
			soup := append(bytes.Repeat([]byte{0x3e}, n), b...)
			in, err := x86.Decode(soup, textAt)
			if n+len(b) > x86.MaxLen {
				require.ErrorIs(t, err, x86.ErrUnknown, "%x", soup)
				continue
			}
			require.NoError(t, err, "%x", soup)
			require.EqualValues(t, n+len(b), in.Len)
		}
	}
}

// checkDecoded is what must hold for any bytes in either mode.
func checkDecoded(t require.TestingT, b []byte, at arch.Addr) {
	for _, mode := range []x86.Mode{x86.Mode64, x86.Mode32} {
		checkDecodedIn(t, mode, b, at)
	}
}

func checkDecodedIn(t require.TestingT, mode x86.Mode, b []byte, at arch.Addr) {
	in, err := mode.Decode(b, at)
	if err != nil {
		truncated, unknown := errors.Is(err, x86.ErrTruncated), errors.Is(err, x86.ErrUnknown)
		require.True(t, truncated != unknown, "%v", err)
		require.False(t, truncated && len(b) >= x86.MaxLen, "%v", err)
		return
	}
	n := int(in.Len)
	require.True(t, n >= 1 && n <= len(b) && n <= x86.MaxLen)
	require.Equal(t, b[:n], in.Bytes())
	require.NotEmpty(t, in.String())
	next := at + arch.Addr(n)
	if mode == x86.Mode32 {
		next &= 1<<32 - 1
	}
	require.Equal(t, next, in.Next())
	// The bytes after it don't matter, and without its last byte it isn't an
	// instruction.
	for _, tail := range [][]byte{nil, {0xcc, 0x0f, 0x84, 0xff}} {
		again, err := mode.Decode(append(append([]byte{}, b[:n]...), tail...), at)
		require.NoError(t, err)
		require.Equal(t, in.Raw(), again.Raw())
		require.Equal(t, describe(&in), describe(&again))
	}
	_, err = mode.Decode(b[:n-1], at)
	require.ErrorIs(t, err, x86.ErrTruncated)
}

// checkExec: an outcome that says nothing has changed tells the truth.
func checkExec(t require.TestingT, b []byte, s arch.Regs, m arch.Memory) {
	in, err := x86.Decode(b, s.IP)
	if err != nil {
		return
	}
	s.Flags |= x86.F1
	before := s
	out := in.Exec(&s, m)
	switch out {
	case arch.Undefined, arch.PageFault, arch.DivideError, arch.Unsupported:
		require.Equal(t, before, s, "%v", &in)
	default:
		require.NotZero(t, s.Flags&x86.F1, "%v", &in)
	}
	if in.Unsupported() {
		require.Equal(t, arch.Unsupported, out, "%v", &in)
	}
	if in.Flow() == arch.FlowNext && out == arch.Next && s.IP != in.Next() {
		require.Equal(t, in.Addr, s.IP, "%v: only a repeated string instruction stays", &in)
	}
}

// likely draws bytes that often are an instruction.
func likely(t *rapid.T) []byte {
	prefix := rapid.SliceOfN(rapid.SampledFrom([]byte{0x48, 0x66, 0xf3, 0xf2, 0x41, 0xf0, 0x4c, 0x2e, 0x67, 0x0f,
		0x65}),
		0, 3).Draw(t, "prefix")
	return append(prefix, rapid.SliceOfN(rapid.Byte(), 1, 15).Draw(t, "bytes")...)
}

// halfMemory loads, and stores nothing.
type halfMemory struct{ stores bool }

func (m halfMemory) Load(a arch.Addr, size int) (uint64, bool) {
	return 0x9e3779b97f4a7c15 >> (64 - 8*size), true
}
func (m halfMemory) Store(arch.Addr, int, uint64) bool { return m.stores }
func (m halfMemory) System() arch.System               { return &system }

type noMemory struct{}

func (noMemory) Load(arch.Addr, int) (uint64, bool) { return 0, false }
func (noMemory) Store(arch.Addr, int, uint64) bool  { return false }
func (noMemory) System() arch.System                { return &system }

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := likely(t)
		checkDecoded(t, b, arch.Addr(rapid.Uint64().Draw(t, "at")))
		s := arch.Regs{IP: textAt, Flags: rapid.Uint64().Draw(t, "flags") & 0xed5}
		for i := range s.R[:x86.AMD64.Used] {
			s.R[i] = rapid.Uint64().Draw(t, "r")
		}
		checkExec(t, b, s, noMemory{})
		checkExec(t, b, s, halfMemory{})
		checkExec(t, b, s, halfMemory{stores: true})
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{0xf3, 0x0f, 0x1e, 0xfa})
	f.Add([]byte{0xe8, 0, 0})
	f.Add([]byte{0x62, 0xf1, 0x7c, 0x48, 0x58, 0x05, 0, 0, 0, 0})
	f.Add([]byte{0x67, 0xc4, 0x46, 0x12, 0x34})
	f.Add([]byte{0x66, 0x0f, 0x78, 0xc0, 1, 2})
	f.Add([]byte{0xc5, 0xf8, 0x77, 0, 0, 0})
	f.Add([]byte{0x48, 0xc7, 0x05, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, b []byte) {
		checkDecoded(t, b, textAt)
		checkExec(t, b, arch.Regs{IP: textAt}, halfMemory{})
		checkExec(t, b, arch.Regs{IP: textAt}, noMemory{})
	})
}

func TestEncode(t *testing.T) {
	for _, target := range []arch.Addr{0x1000, 0x1005, 0xfff, 0x1005 + 1<<31 - 1, arch.Addr(1<<64 - 1<<31 + 0x1005)} {
		b, ok := x86.JumpRel32(textAt, target)
		require.True(t, ok)
		in, err := x86.Decode(b[:], textAt)
		require.NoError(t, err)
		got, _ := in.Target()
		require.Equal(t, target, got)
		require.Equal(t, arch.FlowJump, in.Flow())
		b, ok = x86.CallRel32(textAt, target)
		require.True(t, ok)
		in, err = x86.Decode(b[:], textAt)
		require.NoError(t, err)
		got, _ = in.Target()
		require.Equal(t, target, got)
		require.Equal(t, arch.FlowCall, in.Flow())
	}
	_, ok := x86.JumpRel32(textAt, 0x1005+1<<31)
	require.False(t, ok)
	_, ok = x86.CallRel32(textAt, arch.Addr(1<<64-1<<31+0x1004))
	require.False(t, ok)
	for n := range 40 {
		b := x86.NopN(n)
		require.Len(t, b, n)
		for len(b) > 0 {
			in, err := x86.Decode(b, textAt)
			require.NoError(t, err)
			s := arch.Regs{IP: textAt}
			require.Equal(t, arch.Next, in.Exec(&s, noMemory{}))
			require.Equal(t, arch.Regs{IP: in.Next()}, s)
			b = b[in.Len:]
		}
	}
	require.Equal(t, x86.NopN(5), x86.Nop5[:])
}
