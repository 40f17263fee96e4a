package smp

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// What each boundary looks at lies in the first 4 KiB of a Machine: a pointer isn't
// checked for nil there, since an access near nil faults. It is instructions more for each
// access otherwise, some percent of a short run.
func TestHotFieldsComeFirst(t *testing.T) {
	var m Machine
	for name, at := range map[string]uintptr{
		"steps": unsafe.Offsetof(m.turns.steps), "limit": unsafe.Offsetof(m.turns.limit), "p": unsafe.Offsetof(m.turns.p),
		"foot": unsafe.Offsetof(m.foot), "waitOn": unsafe.Offsetof(m.waits.on) + unsafe.Sizeof(m.waits.on),
		"time": unsafe.Offsetof(m.time) + unsafe.Sizeof(m.time), "mem": unsafe.Offsetof(m.mem) + unsafe.Sizeof(m.mem),
		"weak.prompt": unsafe.Offsetof(m.weak) + unsafe.Offsetof(m.weak.prompt),
	} {
		assert.Less(t, at, uintptr(4096), name)
	}
}
