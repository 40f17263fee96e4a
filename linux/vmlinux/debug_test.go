package vmlinux_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux/vmlinux"
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
			l, err := vmlinux.OpenLines(path, packed.BuildID)
			require.NoError(t, err)
			s, _ := packed.Symbol("register_kprobe")
			require.Equal(t, debug.Line(s.Addr), packed.LineIn(l, s.Addr))
			require.NotEmpty(t, packed.LineIn(l, s.Addr))
			_, err = vmlinux.OpenLines(path, packed.BuildID[1:])
			require.ErrorContains(t, err, "is of build")
			_, err = vmlinux.OpenLines(packed.Path, packed.BuildID)
			require.ErrorContains(t, err, "is no ELF file")

			for _, s := range packed.Symbols() {
				in, ok := packed.Lookup(s.Addr)
				same, ok2 := debug.Lookup(s.Addr)
				require.Equal(t, ok, ok2)
				require.Equal(t, []any{in.Name, in.Addr, in.Size}, []any{same.Name, same.Addr, same.Size})
			}
			// ELF's size leaves out what aligns the next symbol.
			s, _ = debug.Symbol("register_kprobe")
			in, _ := debug.Lookup(s.Addr)
			require.Less(t, s.Size, in.Size)
		})
	}
}

// Lines are those that addr2line -i finds, in the functions of some files.
func TestLines(t *testing.T) {
	tool, err := exec.LookPath("addr2line")
	if err != nil {
		t.Skip("no addr2line here: install binutils")
	}
	for _, series := range debugKernels {
		t.Run(series, func(t *testing.T) {
			path := kerneltest.Debug(t, series)
			im, err := vmlinux.Open(path)
			require.NoError(t, err)
			var addrs []uint64
			var in strings.Builder
			for _, name := range []string{"register_kprobe", "kprobe_optimizer", "kprobe_int3_handler",
				"text_poke_bp_batch", "insn_decode", "rethook_trampoline_handler"} {
				s, ok := im.Symbol(name)
				require.True(t, ok, name)
				for at := s.Addr; at < s.Addr+s.Size; at += 7 {
					addrs = append(addrs, at)
					fmt.Fprintf(&in, "%x\n", at)
				}
			}
			cmd := exec.Command(tool, "-a", "-i", "-f", "-e", path)
			cmd.Stdin = strings.NewReader(in.String())
			out, err := cmd.Output()
			require.NoError(t, err)
			blocks := strings.Split(string(out), "0x")[1:]
			require.Len(t, blocks, len(addrs))
			for i, addr := range addrs {
				lines := strings.Split(strings.TrimSpace(blocks[i]), "\n")[1:]
				frames := im.Line(addr)
				if strings.HasSuffix(lines[1], "?") { // what aligns the next function
					require.Empty(t, frames)
					continue
				}
				require.Len(t, frames, len(lines)/2, "%#x: %v, not %v", addr, frames, lines)
				for j, f := range frames {
					require.Equal(t, lines[2*j], f.Func, "%#x: %v, not %v", addr, frames, lines)
					place, _, _ := strings.Cut(lines[2*j+1], " (discriminator")
					require.True(t, strings.HasSuffix(place, fmt.Sprintf("/%s:%d", f.File, f.Line)), "%#x: %s, not %v",
						addr, place, f)
				}
			}
			s, _ := im.Symbol("register_kprobe")
			require.Equal(t, "kernel/kprobes.c", im.Line(s.Addr)[0].File)
		})
	}
}

// Types are the same from BTF and from DWARF.
func TestDwarfTypes(t *testing.T) {
	for _, series := range debugKernels {
		t.Run(series, func(t *testing.T) {
			im, err := vmlinux.Open(kerneltest.Debug(t, series))
			require.NoError(t, err)
			dwarf, btf := im.DwarfTypes(), im.Types()
			for _, name := range []string{
				"kprobe", "optimized_kprobe", "kretprobe", "kretprobe_instance", "rethook_node", "rethook",
				"arch_optimized_insn",
				"list_head", "hlist_node", "mutex", "pt_regs", "insn", "jump_entry", "static_key", "module",
				"task_struct", "bug_entry",
				"kprobe_opcode_t", "u64", "unsigned int", "no_such_type_anywhere",
			} {
				n, ok := dwarf.Size(name)
				want, ok2 := btf.Size(name)
				require.Equal(t, ok2, ok, name)
				require.Equal(t, want, n, name)
				for off := range n {
					got, _ := dwarf.Member(name, off)
					want, _ := btf.Member(name, off)
					require.Equal(t, want, got, "%s+%d", name, off)
					if got != "" && !strings.ContainsAny(got, "[/") {
						o, b, w, ok := dwarf.Bits(name, got)
						o2, b2, w2, ok2 := btf.Bits(name, got)
						require.Equal(t, []any{o2, b2, w2, ok2}, []any{o, b, w, ok}, "%s.%s", name, got)
					}
				}
			}
		})
	}
}
