package riscv64_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/arch/riscv64/riscv64asm"

	"kpsim/internal/testkit/archtest"
	"kpsim/smp/arch"
	rv "kpsim/smp/arch/riscv64"
)

const objdumpGolden = "testdata/objdump.txt"

// TestObjdump: ours writes compressed instructions as GNU objdump does (-M no-aliases), and refuses what
// that doesn't know. Digests of its texts are recorded by mnemonic, with -record again. Hints are left
// out, which it names in four ways.
func TestObjdump(t *testing.T) {
	theirs := func(at arch.Addr) string { return "" }
	if *record {
		theirs = objdump(t)
	}
	tallies := map[string]*tally{}
	for i, at := 0, textAt; i < 1<<16; i++ {
		if i&3 == 3 {
			continue
		}
		text := "unknown"
		in, err := rv.Decode(halfBytes(uint16(i)), at)
		if err == nil {
			text = in.String()
		}
		if err != nil || !hint(in.(*rv.Inst)) {
			if *record && theirs(at) != text {
				t.Errorf("%04x: %s, theirs is %s", i, text, theirs(at))
			}
			name, _, _ := strings.Cut(text, " ")
			if tallies[name] == nil {
				tallies[name] = new(tally)
			}
			tallies[name].add([]byte(text))
		}
		at += 2
	}
	var lines []string
	for name, y := range tallies {
		lines = append(lines, fmt.Sprintf("%s %d %016x", name, y.n, y.digest))
	}
	slices.Sort(lines)
	if *record {
		require.False(t, t.Failed())
		require.NoError(t, os.WriteFile(objdumpGolden, []byte(strings.Join(lines, "\n")), 0o644))
	}
	golden, err := os.ReadFile(objdumpGolden)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(golden), "\n"), lines)
}

// objdump returns what it writes of all compressed words one after the other, by address.
func objdump(t *testing.T) func(at arch.Addr) string {
	var b []byte
	for i := range 1 << 16 {
		if i&3 != 3 {
			b = append(b, halfBytes(uint16(i))...)
		}
	}
	file := filepath.Join(t.TempDir(), "halves")
	require.NoError(t, os.WriteFile(file, b, 0o644))
	out, err := exec.Command("riscv64-linux-gnu-objdump", "-D", "-b", "binary", "-m", "riscv:rv64", "-M", "no-aliases",
		fmt.Sprintf("--adjust-vma=%#x", uint64(textAt)), file).Output()
	require.NoError(t, err)
	texts := map[arch.Addr]string{}
	for _, line := range strings.Split(string(out), "\n") {
		f := strings.Split(line, "\t")
		if len(f) < 3 {
			continue
		}
		at, err := strconv.ParseUint(strings.Trim(f[0], " :"), 16, 64)
		require.NoError(t, err)
		text, _, _ := strings.Cut(strings.TrimSpace(strings.Join(f[2:], " ")), " #")
		if strings.HasPrefix(text, ".2byte") || text == "c.addi16sp sp,0" { // the latter is reserved
			text = "unknown"
		}
		texts[arch.Addr(at)] = text
	}
	return func(at arch.Addr) string { return texts[at] }
}

var (
	numbered = regexp.MustCompile(`\bx(\d+)\b`)
	unnamed  = regexp.MustCompile(`csr\((\d+)\)`)
)

// otherName matches texts that the disassembler of x/arch writes with another alias than objdump does,
// or doesn't at all: prefetches, which are hints, and fences with reserved fields.
var otherName = regexp.MustCompile(`^(mv|jalr|add.uw|sgtz|pause|prefetch.\w|fence) ?`)

// TestWords: of drawn instructions of each form the disassembler of x/arch writes what ours does, but for
// the names of registers, targets, which it leaves relative, and the names that it doesn't know.
func TestWords(t *testing.T) {
	unknown := map[string]bool{}
	compared := 0
	for i, form := range rv.Listing() {
		if form.Bytes != rv.WordLen {
			continue
		}
		d := drawer{archtest.Draw(i)}
		for range 200 {
			w := form.Value | uint32(d.Next())&^form.Mask
			in := decode(t, wordBytes(w))
			theirs, err := riscv64asm.Decode(wordBytes(w))
			if err != nil {
				unknown[form.Name] = true
				continue
			}
			_, direct := in.Target()
			if direct {
				require.Equal(t, form.Name, strings.ToLower(theirs.Op.String()))
				continue
			}
			text := numbered.ReplaceAllStringFunc(riscv64asm.GNUSyntax(theirs), func(x string) string {
				n, _ := strconv.Atoi(x[1:])
				return rv.RV64.RegNames[n]
			})
			text = unnamed.ReplaceAllStringFunc(text, func(x string) string {
				n, _ := strconv.Atoi(x[4 : len(x)-1])
				return fmt.Sprintf("%#x", n)
			})
			ours, _, _ := strings.Cut(in.String(), " #")
			compared++
			if text != ours && !otherName.MatchString(text) {
				t.Errorf("%08x: %s, theirs is %s", w, ours, text)
			}
		}
	}
	require.Equal(t, map[string]bool{"sfence.vma": true, "wfi": true, "wrs.nto": true, "wrs.sto": true}, unknown)
	require.Greater(t, compared, 20_000)
}

// TestDrawnWords: the disassembler of x/arch knows the same words as ours, by the same names, but for the
// system instructions that it doesn't know.
func TestDrawnWords(t *testing.T) {
	d := drawer{archtest.Draw(99)}
	decoded := 0
	for range 40_000 {
		w := uint32(d.Next()) | 3
		if w&0x1f == 0x1f {
			w &^= 4
		}
		in, err := rv.Decode(wordBytes(w), textAt)
		theirs, err2 := riscv64asm.Decode(wordBytes(w))
		if err != nil {
			require.Error(t, err2, "%08x: theirs is %v", w, theirs)
			continue
		}
		decoded++
		if err2 != nil {
			require.EqualValues(t, 0x73, w&0x7f, "%v", in)
			continue
		}
		if name := in.(*rv.Inst).Name(); name != "" {
			op := strings.ToLower(theirs.Op.String())
			for _, order := range []string{".aqrl", ".aq", ".rl"} {
				op = strings.TrimSuffix(op, order)
			}
			require.Equal(t, op, name, "%08x", w)
		}
	}
	require.Greater(t, decoded, 15_000)
}
