package native

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/smp/arch/x86"
)

// TestNativeSequences compares sequences of 2 to 8 instructions, in each mode.
func TestNativeSequences(t *testing.T) {
	inChild(t, func(h *pair, features map[string]bool) {
		lists, modes := [2][]*form{}, modes(t, features)
		for _, mode := range modes {
			for _, f := range forms(mode, features, map[string]int{}) {
				if !f.variant() {
					lists[mode] = append(lists[mode], f)
				}
			}
		}
		ran, instructions := 0, 0
		var p program
		rapid.Check(t, func(t *rapid.T) {
			mode := rapid.SampledFrom(modes).Draw(t, "mode")
			picks := rapid.SliceOfN(rapid.Uint64(), 2, 8).Draw(t, "instructions")
			r := random(rapid.Uint64().Draw(t, "registers"))
			p.reset(mode)
			sequence(&p, lists[mode], picks)
			h.load(&p)
			for range 100 {
				trial := sequenceTrial(mode, &r)
				var ours ending
				diff, ok := h.try(&p, &trial, &ours, nil)
				if diff != "" {
					t.Fatal(diff)
				}
				if ok {
					ran++
					instructions += len(p.insts)
				}
			}
		})
		t.Logf("%d sequences ran, of %d instructions in all", ran, instructions)
	})
}

// FuzzNative compares whatever bytes decode to, with whatever registers.
func FuzzNative(f *testing.F) {
	host, err := newHost()
	require.NoError(f, err)
	for _, code := range []string{
		"\x48\x01\xd8", "\xf0\x0f\xb1\x0b", "\x66\x0f\xa4\xd8\x05\x70\x10",
		"\xf3\xa6\x0f\x9f\xc0", "\xc4\xe2\xf3\xf7\xc3", "\x48\xf7\xf1",
		"\xc8\x10\x00\x02\xc9", "\x67\x8d\x04\x4b", "\x9d\x9c\x58", "\x27\xd4\x0a\x61", "\x65\x48\x0f\xc1\x03",
		"\x94\x60", "\x61\x41\xe2\xfc", "\x78\x78\x78\x58", // pusha and popa that fault, pads that overlap
	} {
		f.Add(false, uint64(len(code)), []byte(code))
		f.Add(true, uint64(code[0]), []byte(code))
	}
	unlock := host.lock()
	features := host.features()
	unlock()
	h := newPair(host.text, host)
	var p program
	f.Fuzz(func(t *testing.T, short bool, seed uint64, code []byte) {
		mode := x86.Mode64
		if short {
			mode = x86.Mode32
			if !features[has32] {
				t.Skip("this kernel runs no code of 32 bits")
			}
		}
		p.reset(mode)
		for range 6 {
			in, err := mode.Decode(code, codeAt)
			if err != nil {
				break
			}
			if a := dissect(&in); needs(&a) == "" || features[needs(&a)] {
				p.append(in.Bytes())
			}
			code = code[in.Len:]
		}
		if len(p.insts) == 0 {
			return
		}
		defer host.lock()()
		h.load(&p)
		r := random(seed)
		for range 4 {
			trial := sequenceTrial(mode, &r)
			var ours ending
			if diff, _ := h.try(&p, &trial, &ours, nil); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}
