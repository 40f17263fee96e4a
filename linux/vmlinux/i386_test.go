package vmlinux_test

import (
	"encoding/binary"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux/vmlinux"
)

// A kernel for i386 has words of four bytes: its vmlinux names data and types, its sites, its
// table of bugs and its exceptions are found, and it moves by its relocations.
func TestI386(t *testing.T) {
	path := kerneltest.I386(t)
	im, err := vmlinux.Open(path)
	require.NoError(t, err)
	require.Equal(t, filepath.Base(filepath.Dir(path)), im.Release)
	require.Equal(t, 4, im.Word())
	require.Len(t, im.BuildID, 20)
	require.Equal(t, "DWARF", im.Types().From)
	for name, size := range map[string]int{"kprobe": 68, "list_head": 8, "kprobe_opcode_t": 1, "bug_entry": 12} {
		got, ok := im.Types().Size(name)
		require.True(t, ok, name)
		require.Equal(t, size, got, name)
	}
	require.Greater(t, len(im.Fentries()), 10_000)
	require.Greater(t, len(im.Extable()), 100)
	for _, x := range im.Extable() {
		at, ok := im.Lookup(x.Addr)
		require.True(t, ok && at.Func, "%#x", x.Addr)
	}
	optimizer, ok := im.Symbol("kprobe_optimizer")
	require.True(t, ok)
	warns := 0
	for at := optimizer.Addr; at < optimizer.Addr+optimizer.Size; at++ {
		if b, ok := im.Bug(at); ok {
			require.Equal(t, "kernel/kprobes.c", b.File)
			warns++
		}
	}
	require.Positive(t, warns)
	lines := im.Line(optimizer.Addr)
	require.NotEmpty(t, lines)
	require.Equal(t, "kernel/kprobes.c", lines[len(lines)-1].File)

	mutex, _ := im.Symbol("kprobe_mutex")
	off, _, ok := im.Types().Off("mutex", "wait_list")
	require.True(t, ok)
	perCPU, _ := im.Symbol("current_kprobe")
	const delta = 0x1000000
	require.Error(t, im.Move(4096))
	again, err := vmlinux.Open(path)
	require.NoError(t, err)
	require.ErrorContains(t, again.Move(0x40000000), "would leave the kernel's")
	im, err = vmlinux.Open(path)
	require.NoError(t, err)
	require.NoError(t, im.Move(delta))
	moved, _ := im.Symbol("kprobe_mutex")
	require.Equal(t, mutex.Addr+delta, moved.Addr)
	list := moved.Addr + uint64(off)
	require.EqualValues(t, list, binary.LittleEndian.Uint32(im.Bytes(list, 4)), "an empty list points to itself")
	now, _ := im.Symbol("current_kprobe")
	require.Equal(t, perCPU.Addr+delta, now.Addr, "per-CPU data lies in the kernel, and moves with it")
}
