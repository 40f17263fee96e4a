package ppc64

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/archtest"
	"kpsim/smp/arch"
)

const objdumpFile = "testdata/objdump.txt"

// objdumpAt is where the drawn words stand.
const objdumpAt = 0x10000

// A listing is drawn instructions of each form, one after the other, and their digests by mnemonic.
type listing struct {
	insts []*Inst
	code  []byte
}

// drawListing draws instructions of all forms, with eight bytes each.
func drawListing(each int) (l listing) {
	for _, table := range [][]form{arithForms, logicForms, rotateForms, compareForms, accessForms, exclusiveForms,
		branchForms, systemForms, prefixForms} {
		for i := range table {
			f := &table[i]
			d := draw{archtest.Draw(uint64(f.value) + uint64(f.prefix))}
			for range each {
				at := arch.Addr(objdumpAt + len(l.code))
				if in := d.any(f, at); in != nil {
					l.insts = append(l.insts, in)
					l.code = append(l.code, in.Bytes()...)
					if in.Len == WordLen {
						c := Nop()
						l.code = append(l.code, c.Bytes()...)
					}
				}
			}
		}
	}
	return l
}

// any draws an instruction of a form, with fields that are often the same, or have names.
func (d *draw) any(f *form, at arch.Addr) *Inst {
	for range 100 {
		w, prefix := word(d.Next())&^f.mask|f.value, word(0)
		switch d.Below(4) {
		case 0:
			w = w&^(fieldA&^f.mask) | (w>>21&31)<<16&^f.mask
			w = w&^(fieldB&^f.mask) | (w>>21&31)<<11&^f.mask
		case 1:
			w &^= fieldA &^ f.mask
		}
		switch f.name {
		case "mfspr", "mtspr", "mftb":
			n := word(sprs[d.Below(uint64(len(sprs)))].number)
			w = w&^(0x3ff<<11) | n&31<<16 | n>>5<<11
		case "mfocrf", "mtocrf":
			w = w&^(0xff<<12) | 1<<(12+d.Below(8))
		case "rlwinm", "rldicl", "rldicr":
			w = d.rotate(f, w)
		}
		if f.prefix != 0 {
			prefix = word(d.Next())&^f.prefixMask() | f.prefix
			if prefix&prefixR != 0 && f.prefix != prefixNop {
				w &^= fieldA
			}
		}
		if in := decodeWords(prefix, w, at); in != nil {
			return in
		}
	}
	return nil
}

// rotate makes fields of a rotate those that have a simplified mnemonic.
func (d *draw) rotate(f *form, w word) word {
	n := word(d.Below(31)) + 1
	switch f.name {
	case "rlwinm":
		w &^= fieldB | 0x3ff<<1
		return w | [...]word{n<<11 | (31-n)<<1, (32-n)<<11 | n<<6 | 31<<1, n<<6 | 31<<1, (31 - n) << 1, n<<11 | 31<<1,
			n<<11 | n<<6 | 3<<1}[d.Below(6)]
	case "rldicl":
		w &^= fieldB | 1<<1 | 63<<5
		return w | [...]word{n << 6, (32-n)<<11 | n<<6 | 1<<5, n << 11, n<<11 | n<<6,
			(64-n)&31<<11 | 1<<1 | n<<6}[d.Below(5)]
	}
	w &^= fieldB | 1<<1 | 63<<5
	return w | [...]word{n << 6, n<<11 | (63-n)&31<<6 | 1<<5, n<<11 | n<<6}[d.Below(3)]
}

// TestObjdump: of drawn instructions of each form, ours writes what GNU objdump does, both with and without
// simplified mnemonics. Digests of the texts are recorded by mnemonic. With -qemu it is asked again.
func TestObjdump(t *testing.T) {
	l := drawListing(60)
	ask := *qemu != ""
	var plain, raw map[arch.Addr]string
	if ask {
		plain, raw = objdump(t, l.code), objdump(t, l.code, "-M", "raw")
	}
	record := make(archtest.Record)
	compared, differ := 0, map[string]int{}
	check := func(in *Inst, text string, theirs map[arch.Addr]string) {
		text, _, _ = strings.Cut(text, " #")
		name, _, _ := strings.Cut(text, " ")
		record.AddText(name, text)
		if !ask {
			return
		}
		compared++
		them := theirs[in.Addr]
		if them != text && !otherName(in, them) {
			if differ[in.form.name]++; differ[in.form.name] <= 3 {
				t.Errorf("%08x %08x: %s, theirs is %s", in.prefix, in.word, text, them)
			}
		}
	}
	for _, in := range l.insts {
		check(in, in.String(), plain)
		check(in, in.Raw(), raw)
	}
	t.Logf("%d texts compared", compared)
	record.Compare(t, objdumpFile, ask)
}

// otherName reports whether objdump's text is left out. It doesn't know branches with reserved bits of BO,
// or simplifies them in part, and it cuts absolute targets to 32 bits. It names hints of dcbt, and doesn't
// know mftb, which is mfspr today.
func otherName(in *Inst, theirs string) bool {
	switch in.form.name {
	case "dcbt", "dcbtst":
		return strings.HasPrefix(theirs, in.form.name)
	case "mftb":
		return strings.HasPrefix(theirs, ".long")
	case "b":
		return in.word&bitAA != 0
	case "bc", "bclr", "bcctr", "bctar":
		return strings.HasPrefix(theirs, ".long") || in.alias() == "" || in.form.name == "bc" && in.word&bitAA != 0
	}
	return false
}

// objdump returns its texts by address.
func objdump(t *testing.T, code []byte, args ...string) map[arch.Addr]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "code")
	require.NoError(t, os.WriteFile(file, code, 0o644))
	args = append(args, "-D", "-b", "binary", "-m", "powerpc:common64", "-EL", "-M", "power10",
		fmt.Sprintf("--adjust-vma=%#x", objdumpAt), file)
	out, err := exec.Command("powerpc64le-linux-gnu-objdump", args...).Output()
	require.NoError(t, err)
	texts := map[arch.Addr]string{}
	for _, line := range strings.Split(string(out), "\n") {
		f := strings.Split(line, "\t")
		if len(f) < 3 {
			continue
		}
		at, err := strconv.ParseUint(strings.Trim(f[0], " :"), 16, 64)
		require.NoError(t, err)
		text, _, _ := strings.Cut(strings.Join(f[2:], " "), " #")
		texts[arch.Addr(at)] = strings.Join(strings.Fields(text), " ")
	}
	return texts
}

// TestBytes: an instruction's bytes are those that it was decoded from.
func TestBytes(t *testing.T) {
	for _, in := range drawListing(3).insts {
		b := in.Bytes()
		require.Len(t, b, in.Size())
		require.Equal(t, in.Word(), binary.LittleEndian.Uint32(b[len(b)-WordLen:]))
		again, err := Decode(b, in.At())
		require.NoError(t, err)
		require.Equal(t, in.String(), again.String())
	}
}
