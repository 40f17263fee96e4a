package kprobes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp"
	"kpsim/smp/arch"
)

// answer is what register says of an address, and that what it takes goes again.
func answer(t *testing.T, at arch.Addr, f code) (errno Errno) {
	newBench(t, repaired, []code{f}, func(b *bench, x *smp.Ctx) {
		k := &Kprobe{Addr: at}
		if err := b.e.Register(x, k); err != nil {
			errno = err.(Errno)
			return
		}
		require.NoError(t, b.e.Unregister(x, k))
		b.e.Optimizer.WaitOptimizer(x)
		now := make([]byte, len(f.bytes))
		b.k.Text.Read(x, f.at, now)
		require.Equal(t, f.bytes, now)
	}).pass(t)
	return errno
}

// TestErrnos: what register answers for each kind of byte (spec 6.1, 6.2).
func TestErrnos(t *testing.T) {
	const nop, ret = 0x90, 0xc3
	for _, test := range []struct {
		says   string
		want   Errno
		offset int
		code   []byte
	}{
		{"an instruction", 0, 0, []byte{nop, ret}},
		{"the second one", 0, 1, []byte{nop, ret}},
		{"inside one", EILSEQ, 1, []byte{0x48, 0x89, 0xf8, ret}},
		{"its last byte", EILSEQ, 2, []byte{0x48, 0x89, 0xf8, ret}},
		{"behind bytes that are no instruction", EILSEQ, 3, []byte{0xc5, 0xf8, 0x06, nop, ret}},
		{"before such bytes", 0, 0, []byte{nop, 0xc5, 0xf8, 0x06, ret}},
		{"such bytes themselves", EILSEQ, 1, []byte{nop, 0xc5, 0xf8, 0x06, ret}},
		{"what is an instruction only to the kernel", 0, 1, []byte{nop, 0x06, ret}},
		{"behind it", 0, 1, []byte{0x06, nop, ret}},
		{"an instruction that goes on behind the function's end", 0, 1, []byte{ret, 0xb8, 1, 2}},
		{"int3", EILSEQ, 1, []byte{nop, 0xcc, ret}},
		{"padding", EILSEQ, 2, []byte{nop, ret, 0xcc, 0xcc}},
		{"behind an int3", 0, 2, []byte{nop, 0xcc, nop, ret}},
		{"ud2", EILSEQ, 0, []byte{0x0f, 0x0b, ret}},
		{"ud1", EILSEQ, 0, []byte{0x0f, 0xb9, 0xc0, ret}},
		{"int 0x80", EILSEQ, 0, []byte{0xcd, 0x80, ret}},
		{"int1", EILSEQ, 0, []byte{0xf1, ret}},
		{"mov %eax,%ss", EINVAL, 0, []byte{0x8e, 0xd0, ret}},
		{"mov %eax,%ds", 0, 0, []byte{0x8e, 0xd8, ret}},
		{"iret", EOPNOTSUPP, 0, []byte{0x48, 0xcf}},
		{"far call through memory", EOPNOTSUPP, 0, []byte{0xff, 0x18, ret}},
		{"far jump through memory", EOPNOTSUPP, 0, []byte{0xff, 0x28, ret}},
		{"call through memory", EOPNOTSUPP, 0, []byte{0xff, 0x10, ret}},
		{"jump through memory", EOPNOTSUPP, 0, []byte{0xff, 0x20, ret}},
		{"jump through rip-relative memory", EOPNOTSUPP, 0, []byte{0xff, 0x25, 0, 0, 0, 0, ret}},
		{"call through a register", 0, 0, []byte{0xff, 0xd0, ret}},
		{"jump through a register", 0, 0, []byte{0xff, 0xe0, ret}},
		{"call through a register with an address-size prefix", EOPNOTSUPP, 0, []byte{0x67, 0xff, 0xd0, ret}},
		{"push memory", 0, 0, []byte{0xff, 0x30, ret}},
		{"vmcall", EOPNOTSUPP, 0, []byte{0x0f, 0x01, 0xc1, ret}},
		{"swapgs", 0, 0, []byte{0x0f, 0x01, 0xf8, ret}},
		{"15 bytes", ENOSPC, 0, []byte{0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, nop, ret}},
		{"14 bytes", 0, 0, []byte{0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, nop, ret}},
		{"hlt", 0, 0, []byte{0xf4, ret}},
		{"syscall", 0, 0, []byte{0x0f, 0x05, ret}},
		{"sysret", 0, 0, []byte{0x48, 0x0f, 0x07, ret}},
		{"in", 0, 0, []byte{0xec, ret}},
		{"wrmsr", 0, 0, []byte{0x0f, 0x30, ret}},
		{"mov to cr3", 0, 0, []byte{0x0f, 0x22, 0xd8, ret}},
		{"x87", 0, 0, []byte{0xd9, 0xe8, ret}},
		{"SSE", 0, 0, []byte{0x0f, 0x58, 0xc1, ret}},
		{"call", 0, 0, []byte{0xe8, 0, 0, 0, 0, ret}},
		{"ret", 0, 0, []byte{ret}},
		{"pushf", 0, 0, []byte{0x9c, ret}},
		{"sti", 0, 0, []byte{0xfb, ret}},
	} {
		t.Run(test.says, func(t *testing.T) {
			f := code{name: "f", at: textBase + 0x100, bytes: test.code}
			require.Equal(t, test.want, answer(t, f.at+arch.Addr(test.offset), f))
		})
	}
}

// TestErrnoNowhere: an address in no function (spec 6.1).
func TestErrnoNowhere(t *testing.T) {
	f := code{name: "f", at: textBase + 0x100, bytes: []byte{0x90, 0xc3}}
	require.Equal(t, ENOENT, answer(t, f.at+2, f))
	require.Equal(t, ENOENT, answer(t, f.at-1, f))
	require.Equal(t, ENOENT, answer(t, 0x1000, f))
}
