package linux

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/engine"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/kpev"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/traces"
)

var updateAnswers = flag.Bool("update-answers", false, "write the answers anew")

// answersRISCV are what register_kprobe of a kernel for riscv64 answers about instructions, a line for each:
//
//	4501 copied
//	00000297 simulate_auipc
//	00100073 EINVAL
//
// The instruction is a number of 16 or of 32 bits; all of 16 bits are there, and drawn ones of each opcode of
// 32 bits and each funct3. Copied: it is executed in a slot. A name is the kernel's function that executes it
// on the saved registers. Else registration fails. A row may stand for adjacent instructions: 4501-450e.
const answersRISCV = "testdata/riscv64-6.12.txt.gz"

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

// TestAnswersRISCV asks the kernel's own register_kprobe on our machine, and compares with what is recorded.
func TestAnswersRISCV(t *testing.T) {
	require.NotZero(t, len(readRows(t)))
	k, err := Open(kerneltest.PathOn(t, "riscv64", "6.12"))
	require.NoError(t, err)
	var halves, fulls []uint32
	for w := range uint32(1 << 16) {
		if w&3 != 3 {
			halves = append(halves, w)
		}
	}
	fulls = asked()
	if *updateAnswers {
		var text bytes.Buffer
		writeRows(&text, halves, answersOf(t, k, halves, 2), 4)
		writeRows(&text, fulls, answersOf(t, k, fulls, 4), 8)
		var packed bytes.Buffer
		z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		z.Write(text.Bytes())
		require.NoError(t, z.Close())
		require.NoError(t, os.WriteFile(answersRISCV, packed.Bytes(), 0o644))
		return
	}
	want := readRows(t)
	step := thorough.Of(64, 1)
	for _, c := range []struct {
		list []uint32
		size int
	}{{halves, 2}, {fulls, 4}} {
		var list []uint32
		for i := 0; i < len(c.list); i += step {
			list = append(list, c.list[i])
		}
		for i, got := range answersOf(t, k, list, c.size) {
			require.Equal(t, want[key{list[i], c.size}], got, "%#x", list[i])
		}
	}
}

// A key is an instruction and its size in bytes.
type key struct {
	word uint32
	size int
}

// writeRows writes a line for each run of adjacent numbers with the same answer.
func writeRows(out io.Writer, list []uint32, answers []string, digits int) {
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j] == following(list[j-1], digits) && answers[j] == answers[i] {
			j++
		}
		if j == i+1 {
			fmt.Fprintf(out, "%0*x %s\n", digits, list[i], answers[i])
		} else {
			fmt.Fprintf(out, "%0*x-%0*x %s\n", digits, list[i], digits, list[j-1], answers[i])
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

func readRows(t *testing.T) map[key]string {
	f, err := os.Open(answersRISCV)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	rows := make(map[key]string)
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		words, answer, _ := strings.Cut(lines.Text(), " ")
		from, to, several := strings.Cut(words, "-")
		if !several {
			to = from
		}
		var a, b uint32
		_, err := fmt.Sscanf(from+" "+to, "%x %x", &a, &b)
		require.NoError(t, err)
		for w := a; w <= b && w >= a; w = following(w, len(from)) {
			rows[key{w, len(from) / 2}] = answer
		}
	}
	require.NoError(t, lines.Err())
	return rows
}

// askedAtOnce is how many instructions are asked about in one boot: no slot is freed.
const askedAtOnce = 2048

// answersOf asks about instructions, each of size bytes.
func answersOf(t *testing.T, k *Kernel, list []uint32, size int) (answers []string) {
	for len(list) > 0 {
		n := min(len(list), askedAtOnce)
		answers = append(answers, askAll(t, k, list[:n], size)...)
		list = list[n:]
	}
	return answers
}

// askAll asks about the instructions of one function.
func askAll(t *testing.T, k *Kernel, list []uint32, size int) (answers []string) {
	const at arch.Addr = 0xffffffff81000000
	code := make([]byte, 0, len(list)*size+page)
	for _, w := range list {
		for i := range size {
			code = append(code, byte(w>>(8*i)))
		}
	}
	var log traces.Log
	m, err := smp.New(smp.Config{CPUs: 1, Budget: 1 << 30, Arch: k.Arch()}, &log)
	require.NoError(t, err)
	defer m.Close()
	n := kernel.Boot(m, kernel.Config{})
	m.Memory().Map(at, append(code, make([]byte, page)...), smp.PermRead|smp.PermExec)
	m.Names().AddSymbol("f", at, len(code))
	n.Symbols.Add(kapi.Function{Name: "f", Addr: at, Size: len(code)}, nil)
	settings := &Settings{Kernel: k}
	c := engine.Config{Settings: settings, Booted: Row.Boot(settings, &n.Guest, 1)}
	var e *Linux
	var wrong error
	m.Tasks().AddProgram("asks", 0, func(x *smp.Ctx) {
		if wrong = e.Boot(x); wrong != nil {
			return
		}
		for i := range list {
			answers = append(answers, e.answer(x, at+arch.Addr(i*size)))
		}
	})
	m.Names().Further = k.Symbol
	m.Freeze()
	m.Reset(new(sched.Default))
	n.Reset()
	c.Handle = func(kapi.Context, engine.Hit) int { return 0 }
	c.Deps = engine.Deps{
		CPUs: 1, Cells: &m.Cells, Text: &n.Text, Patch: &n.Poke, Sync: &n.Sync, RCU: &n.RCU, Locks: &n.Locks,
		Work: &n.Work, Exec: &n.Exec, Traps: &n.Traps, Bind: n, Symbols: &n.Symbols, Tasks: &n.Tasks,
		Hotplug: &n.Hotplug, Stacks: &n.Stacks, Modules: &n.Modules, ModuleMutex: n.Modules.Mutex(), Guest: &n.Guest,
		Tell: func(kapi.Context, traces.Kind, uint64, uint64, uint64) {},
	}
	c.Probes = []engine.Probe{{Handlers: 1 << kpev.Pre}}
	e = Row.New(&c).(*Linux)
	e.BootCPUs()
	o := m.Run()
	require.Equal(t, smp.Passed, o, "%v %v", m.Refusal(), m.Died())
	require.NoError(t, wrong)
	return answers
}

// answer registers a probe, says what the kernel made of it, and unregisters it.
func (e *Linux) answer(x kapi.Context, at arch.Addr) (says string) {
	e.users.list[0].Addr = at
	if errno := e.Do(x, kpev.Register, 0); errno != 0 {
		return map[uint64]string{einval: "EINVAL", 84: "EILSEQ", 12: "ENOMEM", 16: "EBUSY"}[errno]
	}
	p := e.users.list[0].at
	off, size, _ := e.k.Image.Types().Off("kprobe", "ainsn.api.handler")
	says = "copied"
	if f := get(x, p, field{off, size}); f != 0 {
		says, _, _ = e.k.Symbol(arch.Addr(f))
	} else if get(x, p, e.k.fields.kprobe.insn) == 0 {
		says = "neither copied nor simulated"
	}
	e.Do(x, kpev.Unregister, 0)
	return says
}
