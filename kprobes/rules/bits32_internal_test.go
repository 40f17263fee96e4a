package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBoost26 tells what a kernel of 2.6 boosts: nothing on x86-64; on i386 what can run
// elsewhere and has room for a jump behind it, unless it is built with preemption (can_boost
// of arch/i386/kernel/kprobes.c, 2.6.17).
func TestBoost26(t *testing.T) {
	k26 := Kernel{Edition: Edition26, Bits32: true}
	for _, test := range []struct {
		says string
		code []byte
		want ReasonKind
	}{
		{"nop", []byte{0x90}, None},
		{"inc %eax, no prefix here", []byte{0x40}, None},
		{"pusha", []byte{0x60}, None},
		{"ret", []byte{0xc3}, None},
		{"iret", []byte{0xcf}, None},
		{"far jmp", []byte{0xea, 0, 0, 0, 0, 0x60, 0}, None},
		{"xlat", []byte{0xd7}, None},
		{"bswap", []byte{0x0f, 0xc8}, None},
		{"ten bytes", []byte{0xc7, 0x05, 0, 0, 0, 0, 0, 0, 0, 0}, None},
		{"eleven", []byte{0xc7, 0x84, 0x24, 0, 0, 0, 0, 0, 0, 0, 0}, NoRoomJump},
		{"bound", []byte{0x62, 0x00}, Fixed},
		{"addr16", []byte{0x67, 0x8b, 0x07}, Fixed},
		{"far call", []byte{0x9a, 0, 0, 0, 0, 0x60, 0}, Fixed},
		{"call", []byte{0xe8, 0, 0, 0, 0}, Fixed},
		{"jmp", []byte{0xe9, 0, 0, 0, 0}, Fixed},
		{"je", []byte{0x74, 0}, Fixed},
		{"je, far away", []byte{0x0f, 0x84, 0, 0, 0, 0}, Fixed},
		{"into", []byte{0xce}, Fixed},
		{"shl", []byte{0xd1, 0xe0}, Fixed},
		{"not", []byte{0xf7, 0xd0}, Fixed},
		{"cmovb", []byte{0x0f, 0x42, 0xc0}, None},
	} {
		var j Judge
		f := Function{Name: "f", Size: len(test.code), Code: test.code}
		j.Load(&k26, &f)
		v := j.At(0)
		require.Equal(t, test.want, v.NoBoost.Kind, test.says)
		require.Equal(t, test.want == None, v.Boosted, test.says)
		require.Zero(t, v.Region, test.says)

		full := k26
		full.Preemption = true
		j.Load(&full, &f)
		require.Equal(t, Preemptible, j.At(0).NoBoost.Kind, test.says)
		wide := k26
		wide.Bits32 = false
		j.Load(&wide, &f)
		require.Equal(t, NoBooster, j.At(0).NoBoost.Kind, test.says)
	}
}
