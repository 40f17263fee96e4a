package gen

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
)

// TestI386: of the scenarios that are drawn some are of i386, in all editions, and hold what
// others do; each is one that the language reads.
func TestI386(t *testing.T) {
	const programs = 2000
	counts, drawn, set := map[string]int{}, 0, 0
	for seed := range uint64(programs) {
		sc := Fuzz(seed + 1)
		if !sc.Machine.Arch.Bits32() {
			require.False(t, sc.Machine.Kernel.Bits32)
			continue
		}
		require.True(t, sc.Machine.Kernel.Bits32)
		require.NoError(t, lang.Check(sc), "seed %d", seed+1)
		again, err := lang.Load(sc.Name, []byte(lang.Print(sc)), nil)
		require.NoError(t, err, "seed %d", seed+1)
		require.Equal(t, lang.Print(sc), lang.Print(again))
		if drawn++; sc.Says != "" {
			continue
		}
		for kind := range fuzzKindsOf(sc) {
			counts[kind]++
		}
		kinds32(sc, counts)
		set += resultsSet(t, sc)
	}
	require.NotZero(t, set)
	require.Greater(t, drawn, programs/i386In/2)
	for _, e := range rules.AllEditions() {
		require.NotZero(t, counts["edition "+e.String()], e)
	}
	for _, kind := range []string{
		"kretprobe", "jprobe", "jprobe with text as its entry", "post_handler", "stop_machine", "two at one address",
		"one in another's region", "probe in a module", "label_on",
		"handler calls a function", "timer runs a function", "nmi runs a function", "recursion", "tail call",
		"jumped into", "jump through a register", "an exception table", "gives way in its midst",
		"probe at a site of ftrace", "probe beside a static call", "probe beside a lock prefix",
		"probe where a fault sleeps", "data of each CPU",
		"inc or dec of one byte", "pusha", "an operand at its address", "eax at its address", "a counter on the stack",
		"what x86-64 hasn't", "probe in the library", "1+2+1",
	} {
		t.Logf("%5.1f %% of %d: %s", 100*float64(counts[kind])/float64(drawn), drawn, kind)
		require.NotZero(t, counts[kind], kind)
	}
}

// resultsSet counts the steps that set what is a function's argument and its result: to nothing by which
// it would call itself without end.
func resultsSet(t *testing.T, sc *scenario.Scenario) (n int) {
	for i := range sc.Probes {
		for _, steps := range sc.Probes[i].Handlers() {
			for _, st := range *steps {
				if st.Kind == scenario.StepSetReg && st.Reg == sc.Machine.Processor().Result &&
					sc.Probes[i].Kind != scenario.ProbeJprobe {
					require.False(t, st.Value >= 1 && st.Value <= 7, "%s: %s", sc.Name, sc.Probes[i].Name)
					n++
				}
			}
		}
	}
	return n
}

// kinds32 counts what only a scenario of 32 bits holds.
func kinds32(sc *scenario.Scenario, counts map[string]int) {
	in := map[string]bool{"edition " + sc.Machine.Edition.String(): true}
	for i := range sc.Texts {
		f := &sc.Texts[i]
		drawn := strings.HasPrefix(f.Name, "f") && f.Name != "field" && f.Name != "fails"
		in["1+2+1"] = in["1+2+1"] || drawn && bytes.HasPrefix(f.Code, []byte{0x55, 0x89, 0xe5, 0x53})
		for _, off := range Boundaries(sc, f.Name) {
			d, _ := sc.Machine.Processor().Decode(f.Code[off:], f.At+arch.Addr(off))
			b := f.Code[off : off+d.Size()]
			switch {
			case f.Name == tastesName || f.Name == refusedName:
				in["what x86-64 hasn't"] = in["what x86-64 hasn't"] || b[0] == 0x9a || b[0] == 0xea || b[0] == 0xce ||
					b[0] == 0x06
			case !drawn:
			case b[0]&0xf0 == 0x40:
				in["inc or dec of one byte"] = true
			case b[0] == 0x60:
				in["pusha"] = true
			case b[0] == 0x8b && b[1]&0xc7 == 0x05:
				in["an operand at its address"] = true
			case b[0] == 0xa1:
				in["eax at its address"] = true
			case bytes.Equal(b, []byte{0xff, 0x0c, 0x24}):
				in["a counter on the stack"] = true
			}
		}
	}
	for i := range sc.Probes {
		in["probe in the library"] = in["probe in the library"] || sc.Probes[i].Func == "victim"
	}
	for kind, there := range in {
		if there {
			counts[kind]++
		}
	}
}

// Each encoding of the list is one of i386.
func TestEncodings32(t *testing.T) {
	for _, b := range encodings32 {
		for rest := b; len(rest) > 0; {
			in, err := target.I386.Row(true).Decode(rest, tastesAt)
			require.NoError(t, err, "%x", b)
			rest = rest[in.Size():]
		}
	}
}

// fixed answers each question with the same number.
type fixed int

func (fixed) Part(string)      {}
func (v fixed) N(n int) int    { return min(int(v), n-1) }
func (v fixed) One(n int) bool { return v == 0 }

// TestResultEnds: what a handler makes a result ends a recursion of i386, whose argument it is: 0, or more
// than 6 when one was taken off.
func TestResultEnds(t *testing.T) {
	for v := range 100 {
		got := (&maker{rand: fixed(v), i386: true}).result()
		require.True(t, got == 0 || got-1 > 6, "%d becomes %d", v, got)
		require.Equal(t, uint64(v), (&maker{rand: fixed(v)}).result())
	}
}
