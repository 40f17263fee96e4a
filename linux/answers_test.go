package linux_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/linux"
	"kpsim/linux/boot"
)

// A record is a file of what register_kprobe of a kernel answers about instructions, a line for each:
//
//	4501 copied
//	00000297 simulate_auipc
//	00100073 EINVAL
//	behind 885f7c20 EINVAL
//
// Copied: it is executed in a slot. Optimized: its probe may become a branch to a detour. A name is the kernel's
// function that executes it on the saved registers. Else registration fails. A row may stand for adjacent
// instructions: 4501-450e. Behind an instruction the answer is about a nop.
type record struct {
	processor, series string
	groups            []group
	about             string // what its file is about, beside others of the kernel
}

// A group is instructions of as many bytes.
type group struct {
	size   int
	list   []uint32
	nop    uint32 // what follows
	behind bool   // it is asked about what follows
}

// records are those that are kept. Of riscv64 all instructions of 16 bits are asked about, and drawn ones of each
// opcode of 32 bits and each funct3.
var records = []record{
	{"riscv64", "6.12", []group{{size: 2, list: halves()}, {size: 4, list: asked()}}, ""},
	{"arm64", "6.12", groupsARM(), ""},
	{"arm64", "7.2", groupsARM(), ""},
	{"ppc64le", "6.12", groupsPPC(), "-probes"},
	{"ppc64le", "7.2", groupsPPC(), "-probes"},
}

func (r *record) file() string {
	return "testdata/" + r.processor + "-" + r.series + r.about + ".txt.gz"
}

// halves lists the instructions of riscv64 of 16 bits.
func halves() (list []uint32) {
	for w := range uint32(1 << 16) {
		if w&3 != 3 {
			list = append(list, w)
		}
	}
	return list
}

// drawnAsked is how many instructions of 32 bits are asked about for each opcode and funct3.
const drawnAsked = 40

// asked lists the instructions of 32 bits.
func asked() (list []uint32) {
	r := rand.New(rand.NewPCG(1, 2))
	for opcode := range uint32(32) {
		if opcode&7 == 7 {
			continue // longer than 32 bits
		}
		for funct := range uint32(8) {
			for range drawnAsked {
				list = append(list, r.Uint32()&^0x707f|funct<<12|opcode<<2|3)
			}
		}
	}
	return list
}

// groupsARM returns what is asked about arm64: instructions drawn of each value of the highest eleven bits; all hints
// and barriers, and drawn ones of the classes that decoders divide further (ARM ARM C4.1): exceptions, system, branches
// to registers, exclusives, copies of memory; and a nop behind drawn loads and stores that may be exclusive.
func groupsARM() []group {
	const nop = 0xd503201f
	r := rand.New(rand.NewPCG(3, 4))
	var list, behind []uint32
	drawn := func(n int, mask, is uint32) {
		for range n {
			list = append(list, r.Uint32()&^mask|is)
		}
	}
	for top := range uint32(1 << 11) {
		drawn(8, 0xffe00000, top<<21)
	}
	for n := range uint32(1 << 8) {
		list = append(list, 0xd503201f&^0xfe0|n<<5, 0xd503301f|n<<5) // with CRm and op2
	}
	for n := range uint32(1 << 10) {
		list = append(list, 0xd61f0000|n>>6<<21|n&0x3f<<10, 0xd61f001f|n>>6<<21|n&0x3f<<10) // opc, op3; op4
	}
	for _, branch := range []uint32{0xd61f0000, 0xd63f0000, 0xd65f0000} {
		drawn(20, 0xfffffc1f, branch)
	}
	drawn(1000, 0xffc00000, 0xd5000000)
	drawn(300, 0xfff8f01f, 0xd500401f)
	drawn(300, 0xff000000, 0xd4000000)
	drawn(1000, 0x3f000000, 0x08000000)
	drawn(300, 0x3b200c00, 0x19000400)
	list = append(list, 0xd53b4220, 0xd53b4221, 0xd53b423f, 0xd69f03e0, 0xd69f0bff, 0xd69f0fff, 0xd65f0bff, 0xd65f0fff)
	for range 1000 {
		behind = append(behind, r.Uint32()&^0x3f000000|0x08000000)
	}
	return []group{{size: 4, list: unique(list), nop: nop},
		{size: 4, list: unique(behind), nop: nop, behind: true}}
}

// groupsPPC returns what is asked about ppc64le: instructions drawn of each primary opcode, all extended ones of 19, 30
// and 31, each before a nop, which is the second word of a prefixed one; and a nop behind drawn ones. analyse_instr
// executes darn, which the simulator doesn't.
func groupsPPC() []group {
	const nop = 0x60000000
	r := rand.New(rand.NewPCG(5, 6))
	var list, behind []uint32
	for op := range uint32(64) {
		for range 120 {
			list = append(list, r.Uint32()>>6|op<<26)
		}
		for range 10 {
			behind = append(behind, r.Uint32()>>6|op<<26)
		}
	}
	for xo := range uint32(1024) {
		for range 6 {
			list = append(list, r.Uint32()&0x03fff801|31<<26|xo<<1, r.Uint32()&0x03fff801|19<<26|xo<<1)
		}
	}
	list = append(list, 0x7fe00008, 0x7c000008, 0x0fe00000, 0x44000002, 0x4e800020, 0x4e800420, 0x4e800421, 0x48000010)
	list = slices.DeleteFunc(list, func(w uint32) bool { return w&0xfc0007fe == 0x7c0005e6 })
	return []group{{size: 4, list: unique(list), nop: nop},
		{size: 4, list: unique(behind), nop: nop, behind: true}}
}

// unique returns numbers in order, each once.
func unique(list []uint32) []uint32 {
	slices.Sort(list)
	return slices.Compact(list)
}

// TestAnswers asks kernels' own register_kprobe on our machine, and compares with what is recorded.
func TestAnswers(t *testing.T) {
	for i := range records {
		r := &records[i]
		t.Run(r.processor+"-"+r.series, func(t *testing.T) { r.test(t) })
	}
}

func (r *record) test(t *testing.T) {
	if !*linux.UpdateAnswers {
		require.NotEmpty(t, readRows(t, r.file()))
	}
	k, err := linux.Open(kerneltest.PathOn(t, r.processor, r.series))
	require.NoError(t, err)
	if *linux.UpdateAnswers {
		var text, packed bytes.Buffer
		for i := range r.groups {
			g := &r.groups[i]
			writeRows(&text, g, answersOf(t, k, g, g.list))
		}
		z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		z.Write(text.Bytes())
		require.NoError(t, z.Close())
		require.NoError(t, os.WriteFile(r.file(), packed.Bytes(), 0o644))
		return
	}
	want := readRows(t, r.file())
	step := thorough.Of(64, 1)
	for i := range r.groups {
		g := &r.groups[i]
		var list []uint32
		for i := 0; i < len(g.list); i += step {
			list = append(list, g.list[i])
		}
		for i, got := range answersOf(t, k, g, list) {
			require.Equal(t, want[key{list[i], g.size, g.behind}], got, "%#x", list[i])
		}
	}
}

// A key is an instruction and its size in bytes.
type key struct {
	word   uint32
	size   int
	behind bool
}

// behindMark begins the rows of a group that is behind.
const behindMark = "behind "

// writeRows writes a line for each run of adjacent numbers with the same answer.
func writeRows(out io.Writer, g *group, answers []string) {
	list, digits, mark := g.list, 2*g.size, ""
	if g.behind {
		mark = behindMark
	}
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j] == following(list[j-1], digits) && answers[j] == answers[i] {
			j++
		}
		if j == i+1 {
			fmt.Fprintf(out, "%s%0*x %s\n", mark, digits, list[i], answers[i])
		} else {
			fmt.Fprintf(out, "%s%0*x-%0*x %s\n", mark, digits, list[i], digits, list[j-1], answers[i])
		}
		i = j
	}
}

// following returns the next number of as many digits that is an instruction: one of 16 bits doesn't end with 11.
func following(w uint32, digits int) uint32 {
	if w++; digits == 4 && w&3 == 3 {
		w++
	}
	return w
}

func readRows(t *testing.T, file string) map[key]string {
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	rows := make(map[key]string)
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		line, behind := strings.CutPrefix(lines.Text(), behindMark)
		words, answer, _ := strings.Cut(line, " ")
		from, to, several := strings.Cut(words, "-")
		if !several {
			to = from
		}
		var a, b uint32
		_, err := fmt.Sscanf(from+" "+to, "%x %x", &a, &b)
		require.NoError(t, err)
		for w := a; w <= b && w >= a; w = following(w, len(from)) {
			rows[key{w, len(from) / 2, behind}] = answer
		}
	}
	require.NoError(t, lines.Err())
	return rows
}

// askedAtOnce is how many instructions are asked about in one boot: no slot is freed.
const askedAtOnce = 2048

// answersOf asks about instructions of a group.
func answersOf(t *testing.T, k *linux.Kernel, g *group, list []uint32) (answers []string) {
	for len(list) > 0 {
		n := min(len(list), askedAtOnce)
		answers = append(answers, askAll(t, k, g, list[:n])...)
		list = list[n:]
	}
	return answers
}

// askAll asks about the instructions of one boot.
func askAll(t *testing.T, k *linux.Kernel, g *group, list []uint32) (answers []string) {
	var asked []boot.Question
	for _, w := range list {
		var q boot.Question
		for _, w := range []uint32{w, g.nop} {
			for i := range g.size {
				q.Code = append(q.Code, byte(w>>(8*i)))
			}
		}
		if g.behind {
			q.At = g.size
		}
		asked = append(asked, q)
	}
	all, err := boot.Handlings(k, asked)
	require.NoError(t, err)
	for i := range all {
		answers = append(answers, inWord(&all[i]))
	}
	return answers
}

// inWord is a handling in the words of a record.
func inWord(h *linux.Handling) string {
	switch {
	case h.Errno != 0:
		return map[uint64]string{22: "EINVAL", 84: "EILSEQ", 12: "ENOMEM", 16: "EBUSY"}[h.Errno]
	case h.Optimized:
		return "optimized"
	case h.By != "":
		return h.By
	}
	return "copied"
}
