package vmlinux_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/linux/vmlinux"
	"kpsim/linux/vmlinux/kerneltest"
)

// debugKernels are the series whose vmlinux with debug information may be at hand.
var debugKernels = []string{"6.1", "6.12"}

// A vmlinuz' symbols are those of System.map, which nm made, in its order but for
// those of one address.
func TestSystemMap(t *testing.T) {
	for _, series := range debugKernels {
		t.Run(series, func(t *testing.T) {
			dir := filepath.Dir(kerneltest.Debug(t, series))
			im, err := vmlinux.Open(filepath.Join(dir, "vmlinuz"))
			require.NoError(t, err)
			type symbol struct {
				name string
				addr uint64
			}
			real := map[symbol]int{}
			f, err := os.Open(filepath.Join(dir, "System.map"))
			require.NoError(t, err)
			defer f.Close()
			for lines := bufio.NewScanner(f); lines.Scan(); {
				words := strings.Fields(lines.Text())
				addr, err := strconv.ParseUint(words[0], 16, 64)
				require.NoError(t, err)
				real[symbol{words[2], addr}]++
			}
			for _, s := range im.Symbols() {
				real[symbol{s.Name, s.Addr}]--
			}
			left := 0
			for s, n := range real {
				require.GreaterOrEqual(t, n, 0, s)
				left += n
			}
			// What kallsyms leaves out: its own tables.
			require.Less(t, left, 20)
		})
	}
}

// The relocations after a vmlinuz' ELF are those that the linker left in the
// vmlinux of the same build, and symbols agree.
func TestSameKernel(t *testing.T) {
	for _, series := range debugKernels {
		t.Run(series, func(t *testing.T) {
			path := kerneltest.Debug(t, series)
			debug, err := vmlinux.Open(path)
			require.NoError(t, err)
			packed, err := vmlinux.Open(filepath.Join(filepath.Dir(path), "vmlinuz"))
			require.NoError(t, err)
			require.Equal(t, packed.Release, debug.Release)
			require.Equal(t, packed.BuildID, debug.BuildID)
			require.NotEqual(t, packed.Digest, debug.Digest)
			if relocs := debug.Relocs(); len(relocs["64"]) > 0 { // 6.12's are stripped
				require.Equal(t, packed.Relocs(), relocs)
			}
			for _, s := range packed.Symbols() {
				in, ok := packed.Lookup(s.Addr)
				same, ok2 := debug.Lookup(s.Addr)
				require.Equal(t, ok, ok2)
				require.Equal(t, in.Name, same.Name)
				require.LessOrEqual(t, same.Size, in.Size) // ELF's size leaves out what aligns the next symbol
			}
		})
	}
}
