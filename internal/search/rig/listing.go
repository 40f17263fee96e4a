package rig

import (
	"bytes"
	"fmt"

	"kpsim/internal/scenario"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A listing is the text as it was linked, which a run reports first.
type listing struct {
	*Plan
	insns []insn
	told  bool        // an earlier run has reported it
	end   traces.Mark // the position after it in a log, if told
}

// insn is an instruction of original text, as in the head of a log.
type insn struct{ addr, lo, hi uint64 }

// add adds a function.
func (l *listing) add(t *scenario.Text) error {
	code := l.Code(t)
	for off := 0; off < len(code); {
		in, err := target.Decode(code[off:], t.At+arch.Addr(off))
		if err != nil && len(bytes.Trim(code[off:], "\x00")) == 0 {
			break // half an instruction of the zeros after a section
		}
		if err != nil {
			return l.textFault(t, fmt.Errorf("%s: %s+%#x: % x: %w", l.Scenario.Name, t.Name, off,
				code[off:min(off+15, len(code))], err))
		}
		lo, hi := traces.PackBytes(code[off : off+in.Size()])
		l.insns = append(l.insns, insn{uint64(t.At) + uint64(off), lo, hi})
		off += in.Size()
	}
	return nil
}

// addWatched adds the functions of which the machine watches a part.
func (l *listing) addWatched(watched bool) error {
	for i := range l.Scenario.Texts {
		if t := &l.Scenario.Texts[i]; !t.Own && l.Machine.Memory().Watched(t.At, len(t.Code)) == watched {
			if err := l.add(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// tell reports it.
func (l *listing) tell() {
	for _, in := range l.insns {
		l.Log.Emit(smpev.Load, 255, traces.NoTask, in.addr, in.lo, in.hi)
	}
	l.end = l.Log.Mark(smpev.Load)
}
