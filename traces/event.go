package traces

import (
	"encoding/binary"
	"fmt"
)

// Kind is the kind of an event. Each vocabulary package owns a block of kinds.
type Kind uint16

// The blocks of the vocabularies; a block holds 64 kinds.
const (
	MachineBlock Kind = 0
	KprobesBlock Kind = 64
	EngineBlock  Kind = 128 // of all other engines together; Define panics if two use one kind
	kindCount         = 192
)

// An Event is one thing that happened in a run. It is small and flat, without strings or
// pointers, so that it can be hashed, compared and stored. The Spec of its kind says what A, B
// and C mean.
type Event struct {
	Seq     uint32 // ordinal of the event in the run
	Kind    Kind
	CPU     uint8
	Task    uint8 // the task current on the CPU; NoTask if none
	A, B, C uint64
}

// NoTask is the Task of an event without a task.
const NoTask uint8 = 255

// String prints the event with the names of its arguments, numbers in hex.
func (e *Event) String() string {
	s := fmt.Sprintf("%5d cpu%d", e.Seq, e.CPU)
	if e.Task != NoTask {
		s += fmt.Sprintf(" task%d", e.Task)
	}
	s += " " + e.Kind.String()
	for i, v := range e.Args() {
		s += fmt.Sprintf(" %s=%#x", specs[e.Kind].Args[i].Name, v)
	}
	return s
}

// PackBytes packs up to 15 bytes and their number into two words of an event:
// the first eight bytes, then seven more with the length in the top byte.
func PackBytes(b []byte) (lo, hi uint64) {
	n := len(b)
	if n >= 8 {
		lo = binary.LittleEndian.Uint64(b)
		hi = binary.LittleEndian.Uint64(b[n-8:]) >> (8 * (16 - n))
		return lo, hi | uint64(n)<<56
	}
	for i, v := range b {
		lo |= uint64(v) << (8 * i)
	}
	return lo, uint64(n) << 56
}

// UnpackBytes is the inverse of PackBytes.
func UnpackBytes(lo, hi uint64) (b [15]byte, n int) {
	for i := range b {
		if i < 8 {
			b[i] = byte(lo >> (8 * i))
		} else {
			b[i] = byte(hi >> (8 * (i - 8)))
		}
	}
	return b, int(hi >> 56)
}
