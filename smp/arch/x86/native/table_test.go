package native

import (
	"flag"
	"fmt"
	"hash/fnv"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

var cases = flag.Int("native.cases", 0, "comparisons with this host's processor in all, at least 1,000 of every form")

const (
	perForm     = 1000
	perVariant  = 100 // of a form that only differs by a prefix from one that is tried more often
	perEncoding = 44
	fewer       = 8 // a default run divides both by it: TestRecorded compares 88 trials of each form on every computer
)

// seed makes every form's trials a function of its name.
func (f *form) seed() random {
	h := fnv.New64a()
	h.Write([]byte(f.String()))
	return random(h.Sum64())
}

// variant reports whether the form has a prefix that changes an address, or
// nothing at all.
func (f *form) variant() bool {
	for _, p := range f.prefixes {
		switch {
		case p == 0x66, p == 0xf0, f.isString() && (p == 0xf2 || p == 0xf3), f.space > 1 && (p == 0xf2 || p == 0xf3):
		default:
			return true
		}
	}
	return false
}

// A tally is the result of trying a form.
type tally struct {
	ran      int
	alwaysUD bool // the first encoding's trials all raise #UD, and more would say nothing
	diffs    []string
	dropped  map[string]int
}

// each tries a form n times, or until three trials differ.
func (h *pair) each(f *form, n int, digest *digest) (t tally) {
	t.dropped = map[string]int{}
	r := f.seed()
	var p program
	undefined := 0
	for tries := 0; tries < n+50 && t.ran < n && len(t.diffs) < 3; tries++ {
		x, ok := f.newEncoding(&r)
		if !ok {
			t.dropped["no such encoding"]++
			continue
		}
		p.reset(f.mode)
		p.add(x.in)
		h.load(&p)
		for range min(perEncoding, n-t.ran) {
			trial := x.trial(&r)
			var ours ending
			diff, ran := h.try(&p, &trial, &ours, digest)
			switch {
			case !ran:
				t.dropped[ours.dropped]++
			case diff != "":
				t.diffs = append(t.diffs, f.String()+diff)
				fallthrough
			default:
				t.ran++
				if ours.trap == vectorUD {
					undefined++
				}
			}
		}
		if t.alwaysUD = undefined == t.ran && undefined == perEncoding; t.alwaysUD {
			break
		}
	}
	return t
}

// tryAll tries every form of some modes and says how often at least.
func tryAll(t *testing.T, h *pair, features map[string]bool, modes []x86.Mode) {
	leftOut := map[string]int{}
	var all []*form
	for _, mode := range modes {
		list := forms(mode, features, leftOut)
		require.Greater(t, len(list), 2000, "forms in mode %v", mode)
		t.Logf("%d forms in mode %v", len(list), mode)
		all = append(all, list...)
	}
	for _, why := range sortedKeys(leftOut) {
		t.Logf("left out: %5d: %s", leftOut[why], why)
	}
	slow, total, wrong, alwaysUD := raceEnabled(), 0, 0, 0
	least := map[bool]int{false: 1 << 30, true: 1 << 30}
	who := map[bool]string{}
	dropped := map[string]int{}
	for _, f := range all {
		n := perForm
		if f.variant() || slow {
			n = perVariant
		}
		if *cases > 0 {
			n = max(perForm, *cases/len(all)+1)
		} else {
			n = thorough.Of(n/fewer, n)
		}
		got := h.each(f, n, nil)
		for why, n := range got.dropped {
			dropped[why] += n
		}
		total += got.ran
		if got.alwaysUD {
			alwaysUD++
			n = 0
		}
		v := f.variant() && *cases == 0
		if got.ran < least[v] && n > 0 {
			least[v], who[v] = got.ran, f.String()
		}
		if len(got.diffs) > 0 {
			if wrong++; wrong < 40 {
				t.Errorf("%s", got.diffs[0])
			}
		}
		if got.ran < n && len(got.diffs) == 0 {
			t.Errorf("%s: only %d trials ran: %v", f, got.ran, got.dropped)
		}
	}
	t.Logf("%d trials, %d forms differ; %d forms are #UD whatever the operands, as on the processor: %d trials each",
		total, wrong, alwaysUD, perEncoding)
	t.Logf("smallest count of a form: %d (%s)", least[false], who[false])
	if *cases == 0 {
		t.Logf("smallest count of a form that differs from another by an address prefix or an ignored one: %d (%s)",
			least[true], who[true])
	}
	for _, why := range sortedKeys(dropped) {
		t.Logf("dropped: %7d: %s", dropped[why], why)
	}
}

func sortedKeys(m map[string]int) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// raceEnabled: under the race detector everything takes ten times as long.
func raceEnabled() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && strings.Contains(fmt.Sprint(info.Settings), "{-race true}")
}

// TestFormsComplete: whatever decodes, executes and may be run belongs to a form.
func TestFormsComplete(t *testing.T) {
	type kind struct {
		mode      x86.Mode
		vex       bool
		space, op byte
		reg       int
		mem       bool
	}
	kindOf := func(mode x86.Mode, a *anatomy) kind {
		k := kind{mode, a.vex, a.space, a.op, 0, a.mem}
		if isGroup(a.vex, a.space, a.op) {
			k.reg = a.reg
		}
		return k
	}
	for _, mode := range []x86.Mode{x86.Mode64, x86.Mode32} {
		have, wanted := map[kind]bool{}, map[kind]bool{}
		for _, f := range forms(mode, recorded, map[string]int{}) {
			in, err := f.probe()
			require.NoError(t, err)
			a := dissect(&in)
			have[kindOf(mode, &a)] = true
		}
		for _, start := range []string{"", "\x66", "\xf2", "\xf3", "\x48", "\x0f", "\x66\x0f", "\xf2\x0f", "\xf3\x0f",
			"\x48\x0f", "\x0f\x38", "\xf2\x0f\x38",
			"\xf3\x0f\x38", "\x66\x0f\x38", "\x0f\x3a", "\xc4\xe2\x78", "\xc4\xe2\x79", "\xc4\xe2\x7a", "\xc4\xe2\x7b",
			"\xc4\xe3\x7b", "\xc4\xe2\xfb", "\xc5\xf8"} {
			for rest := range 1 << 12 { // an opcode; the field reg, and memory or a register
				modrm := byte(rest>>8&7<<3) | byte(rest>>11)*0xc0
				code := append([]byte(start), byte(rest), modrm, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
				in, err := mode.Decode(code, codeAt)
				if err != nil || in.Unsupported() || byte(rest) == 0xf0 || // a lock may make #UD of what Exec refuses
					in.UndefinedResult(&arch.Regs{}) {
					continue
				}
				a := dissect(&in)
				if unfit(mode, &a) == "" && vendorsDiffer(mode, &a) == "" && (needs(&a) == "" || recorded[needs(&a)]) {
					wanted[kindOf(mode, &a)] = true
				}
			}
		}
		for k := range wanted {
			if !have[k] {
				t.Errorf("no form is like %+v", k)
			}
		}
		t.Logf("mode %d: %d kinds of instruction", mode, len(wanted))
		require.Greater(t, len(wanted), 400)
	}
}
