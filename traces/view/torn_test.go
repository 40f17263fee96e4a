package view_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"kpsim/internal/testkit/tracetest"
	"kpsim/smp/smpev"
	"kpsim/traces/view"
)

// cross is an address three bytes before the end of 8 aligned bytes.
const cross = f + 5

// call is a call of slots+0x20 from an address.
func call(from uint64) []byte {
	to := uint32(slots + 0x20 - from - 5)
	return []byte{0xe8, byte(to), byte(to >> 8), byte(to >> 16), byte(to >> 24)}
}

// An instruction with a part of a write is told with the stores of the write, with what parts them, and without IPIs
// after it, which don't prevent that: what is read between two stores is torn even if all CPUs serialise then.
func TestStoryOfATornWrite(t *testing.T) {
	old := []byte{0xe8, 1, 2, 3, 4}
	for _, c := range []struct {
		at     uint64
		first  int    // bytes of the first store
		ran    string // o: of the old call, n: of the new one
		want   string
		orders string
	}{
		{cross, 3, "ooonn", "crosses 8 aligned bytes at 0x", " saw the store of event 10, but not that of event 9."},
		{cross, 3, "nnnoo", "crosses 8 aligned bytes at 0x",
			" came between them: it saw the store of event 9, but not that of event 10."},
		{f, 4, "nnnno", "was parted at 0x",
			" came between them: it saw the store of event 9, but not that of event 10."},
	} {
		tr := tracetest.New()
		tr.Load(c.at, "e8 01 02 03 04")
		p, r := tr.On(0, prober), tr.On(1, caller)
		r.Exec(c.at, old...)
		for range 6 {
			r.Exec(c.at, old...)
		}
		is := call(c.at)
		p.Image(c.at, is...).Store(c.at, is[:c.first]...).Store(c.at+uint64(c.first), is[c.first:]...)
		ran := append([]byte(nil), old...)
		for i, of := range c.ran {
			if of == 'n' {
				ran[i] = is[i]
			}
		}
		r.Exec(c.at, ran...)
		in := input(tr, 2)
		in.Property, in.PlaceAt, in.Message = "T1 whole-instructions", c.at, "its message"
		told := strings.Join(story(in), "\n")
		assert.Contains(t, told, "Of the call to slots+0x20, cpu0 stored ")
		assert.Contains(t, told, c.want)
		assert.Contains(t, told, "cpu1's fetch"+c.orders)
		assert.NotContains(t, told, "IPI")
		cites := ""
		for _, s := range view.Deciding(in) {
			cites += s.Text + "\n"
		}
		assert.Contains(t, cites, "cpu1's fetch came between the stores of event 9 and event 10: the write "+c.want)
	}
}

// The parts of a store by one instruction of compiled code belong together, although they reach beyond the instruction
// that they change, or change two.
func TestStoryOfATornStoreThroughAnAlias(t *testing.T) {
	const at, end = f + 6, f + 8 // two bytes before the end of 8 aligned bytes
	old, is := []byte{0xe8, 1, 2, 3, 4}, call(at)
	torn := append([]byte{old[0], old[1]}, is[2:]...)
	for _, c := range []struct {
		after []byte // what the store puts after the call
		wrote string
	}{
		{[]byte{0x90, 0x90, 0x90},
			"wrote the tail of the call to slots+0x20 over victim+0x7..0xffffffff8100000a, through "},
		{[]byte{0xf8, 0x90, 0x90}, "stored 5 bytes to victim+0x7..0xffffffff8100000b, through "},
	} {
		tr := tracetest.New()
		tr.Load(at, "e8 01 02 03 04", "90", "90", "90", "c3")
		p, r := tr.On(0, prober), tr.On(1, caller)
		p.Image(at, is...)
		if c.after[0] != 0x90 {
			p.Image(at+5, c.after[0])
		}
		p.Emit(smpev.Aliased, 0x1000, 0x2000, 8)
		p.Store(at, is[:2]...).Store(end, append(is[2:len(is):len(is)], c.after...)...)
		r.Exec(at, torn...)
		in := input(tr, 2)
		in.Property, in.PlaceAt, in.Message = "T1 whole-instructions", at, "its message"
		told := strings.Join(story(in), "\n")
		assert.Contains(t, told, c.wrote)
		assert.Contains(t, told, "The write of the call to slots+0x20 crosses 8 aligned bytes at 0xffffffff81000008")
		assert.Contains(t, told, "bytes 0 and 2 to 4 of the call to slots+0x20, byte 1 as linked.")
		assert.NotContains(t, told, "IPI")
	}
}
