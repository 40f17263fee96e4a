package x86

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"

	"kpsim/smp/arch"
)

// words is memory of aligned words, from address 0.
type words [PtRegsSize]byte

func (w *words) Load(a arch.Addr, _ int) (uint64, bool) {
	return binary.LittleEndian.Uint64(w[a:]), true
}

func (w *words) Store(a arch.Addr, _ int, v uint64) bool {
	binary.LittleEndian.PutUint64(w[a:], v)
	return true
}

func (w *words) System() arch.System { return nil }

// A register image is the same by either way, there and back.
func TestPtRegs(t *testing.T) {
	want := arch.Regs{IP: 0x100, Flags: 0x200}
	for i := range want.R[:AMD64.Used] {
		want.R[i] = uint64(i + 1)
	}
	var at words
	assert.True(t, storePtRegs(&at, 0, &want))
	var b [PtRegsSize]byte
	putPtRegs(&b, &want)
	assert.Equal(t, [PtRegsSize]byte(at), b)

	var loaded, got arch.Regs
	assert.True(t, LoadPtRegs(&at, 0, &loaded))
	getPtRegs(&b, &got)
	assert.Equal(t, want, loaded)
	assert.Equal(t, want, got)
}
