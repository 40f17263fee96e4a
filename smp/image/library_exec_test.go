package image_test

import (
	"encoding/binary"
	"testing"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/image"
)

// The library's functions compute what their C says, executed by isa from
// where Place put them: each instruction is one that the simulator executes,
// and each relocation leads where it should.

// flat is memory from address 0.
type flat []byte

func (m flat) Load(a arch.Addr, size int) (uint64, bool) {
	if int(a)+size > len(m) {
		return 0, false
	}
	var b [8]byte
	copy(b[:], m[a:int(a)+size])
	return binary.LittleEndian.Uint64(b[:]), true
}

func (m flat) System() arch.System { panic("no system instructions here") }

func (m flat) Store(a arch.Addr, size int, v uint64) bool {
	if int(a)+size > len(m) {
		return false
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	copy(m[a:], b[:size])
	return true
}

const (
	victimAt  = 0x20003
	reschedAt = 0x2f000
	bufferAt  = 0x30000
	stackAt   = 0x38000
	endAt     = 0x3fff0 // where the outermost call returns to
)

// boot puts the whole library in memory and returns where its functions are.
func boot(t *testing.T) (flat, map[string]arch.Addr) {
	t.Helper()
	m, at := make(flat, 0x40000), map[string]arch.Addr{"cond_resched": reschedAt}
	m[reschedAt] = 0xc3 // ret
	for _, f := range []struct {
		file string
		base arch.Addr
	}{{"victim.o", victimAt}, {"callers.o", 0x10000}, {"label.o", 0x11000}, {"probe_targets.o", 0x12005}} {
		img, err := parse(t, library+f.file).Place(f.base, oneEntry(func(s string) (arch.Addr, bool) {
			a, ok := at[s]
			return a, ok
		}))
		if err != nil {
			t.Fatal(err)
		}
		for _, fn := range img.Funcs {
			at[fn.Name] = fn.Addr
			copy(m[fn.Addr:], fn.Code)
		}
		for _, b := range img.Blocks {
			copy(m[b.Addr:], b.Bytes)
		}
	}
	return m, at
}

// call runs the function at an address and returns rax.
func call(t *testing.T, m flat, at arch.Addr, args ...uint64) uint64 {
	t.Helper()
	r := arch.Regs{IP: at, Flags: x86.F1}
	for i, a := range args {
		r.R[[]arch.Reg{x86.RDI, x86.RSI, x86.RDX}[i]] = a
	}
	r.R[x86.RBX], r.R[x86.RBP], r.R[x86.R12] = 11, 22, 33
	r.R[x86.RSP] = stackAt
	m.Store(stackAt, 8, endAt)
	for range 10000 {
		if r.IP == endAt {
			if x86.SP(&r) != stackAt+8 || r.R[x86.RBX] != 11 || r.R[x86.RBP] != 22 || r.R[x86.R12] != 33 {
				t.Errorf("call of %#x doesn't keep the registers it should: %x", at, r)
			}
			return r.R[x86.RAX]
		}
		in, err := x86.Decode(m[r.IP:], r.IP)
		if err != nil {
			t.Fatalf("at %#x: %v\n%s", r.IP, err, image.Listing(x86.Mode64, r.IP, m[r.IP:r.IP+16]))
		}
		if out := in.Exec(&r, m); out != arch.Next {
			t.Fatalf("at %#x: %s: outcome %v", r.IP, in.String(), out)
		}
	}
	t.Fatalf("call of %#x doesn't end", at)
	return 0
}

func victim(a, b uint64) uint64 {
	sum, diff, mix := a+b, a-b, a^b
	return ((sum << 3) ^ (diff * mix)) + (a | sum) - (b & diff)
}

func caller(n uint64) uint64 {
	acc := n
	for i := range n {
		acc += victim(i, acc)
	}
	return acc
}

func TestLibraryExecutes(t *testing.T) {
	m, at := boot(t)
	values := []uint64{0, 1, 2, 5, 99, 100, 101, 4095, 4096, 4097, 1 << 31, 1<<63 - 1, 1 << 63, ^uint64(0),
		0x0123456789abcdef}
	check := func(name string, want uint64, args ...uint64) {
		t.Helper()
		if got := call(t, m, at[name], args...); got != want {
			t.Errorf("%s(%#x) = %#x, want %#x", name, args, got, want)
		}
	}

	for _, a := range values {
		check("clamp", map[bool]uint64{true: 4096, false: a + 1}[a > 4096], a)
		check("over", map[bool]uint64{true: a - 100, false: 0}[a > 100], a)
		check("labelled", a+1, a)

		switch s := int64(a); {
		case s < 0:
			check("sign", ^uint64(0), a)
		case s == 0:
			check("sign", 0, a)
		default:
			check("sign", 1, a)
		}
		v := a ^ a>>30
		v *= 0x9e3779b97f4a7c15
		v ^= v >> 27
		check("scramble", v^v>>31, a)
		check("field", a>>7&0xfff, a, 7, 12)
		for _, b := range values {
			check("victim", victim(a, b), a, b)
			check("labelled_cross", (a^b)+1, a, b)
		}
	}
	for n := range uint64(6) {
		check("caller", caller(n), n)
		check("caller_resched", caller(n), n)
		sum := uint64(0)
		for i := n; i > 0; i-- {
			sum += i ^ sum>>1
		}
		check("triangle", sum, n)
	}
	check("gcd", 6, 54, 24)
	check("gcd", 7, 0, 7)
}

// A jump over the nop of a label's site takes the on path.
func TestLibraryLabels(t *testing.T) {
	m, at := boot(t)
	for _, c := range []struct {
		name, on string
		off      arch.Addr
		want     uint64
	}{
		{"labelled", "labelled_on", 3, 40 + 2},
		{"labelled_cross", "labelled_cross_on", 6, (40 ^ 7) + 2},
	} {
		site := at[c.name] + c.off
		m.Store(site, 1, 0xe9)
		m.Store(site+1, 4, uint64(at[c.on]-(site+5)))
		if got := call(t, m, at[c.name], 40, 7); got != c.want {
			t.Errorf("%s, on: %d, want %d", c.name, got, c.want)
		}
	}
}

// Globals keep their values between calls: loads and stores find them.
func TestLibraryGlobals(t *testing.T) {
	m, at := boot(t)
	for i, want := range []uint64{3 + 10, 3 + 10 + 10} {
		if got := call(t, m, at["tally"], 10); got != want {
			t.Errorf("call %d of tally = %d, want %d", i, got, want)
		}
	}
	call(t, m, at["over"], 101)
	if got := call(t, m, at["tally"], 0); got != 24 {
		t.Errorf("over doesn't count: tally = %d, want 24", got)
	}

	copy(m[bufferAt:], "abc")
	sum, want := uint64(1), []byte("abc")
	for i, c := range want {
		sum = sum*31 + uint64(c)
		want[i] ^= byte(sum)
	}
	if got := call(t, m, at["checksum"], bufferAt, 3); got != sum || string(m[bufferAt:bufferAt+3]) != string(want) {
		t.Errorf("checksum = %#x, buffer % x, want %#x, % x", got, m[bufferAt:bufferAt+3], sum, want)
	}
}
