package run

import (
	"encoding/binary"
	"fmt"
	"strings"

	"kpsim/internal/litmus/x86test"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
)

// X86 is a test of x86: each thread is a function that a task of a CPU of its own calls.
type X86 struct {
	t    *x86test.Test
	code []*x86test.Code
	left []arch.Regs // of each thread, after its end
	done []bool
	last []arch.Regs // of each thread, when it was last looked at
}

// threadBytes is how far the threads' texts lie apart.
const threadBytes = 1 << 14

// NewX86 returns the program of a test.
func NewX86(t *x86test.Test) (*X86, error) {
	x := &X86{t: t, left: make([]arch.Regs, len(t.Threads)), done: make([]bool, len(t.Threads)),
		last: make([]arch.Regs, len(t.Threads))}
	for i := range t.Threads {
		c, err := t.Assemble(i)
		if err != nil {
			return nil, err
		}
		if len(c.Bytes) > threadBytes {
			return nil, fmt.Errorf("thread %d has %d bytes of code; at most %d fit", i, len(c.Bytes), threadBytes)
		}
		x.code = append(x.code, c)
	}
	return x, nil
}

// CPUs implements Program.
func (x *X86) CPUs() int { return len(x.t.Threads) }

// Build implements Program.
func (x *X86) Build(m *smp.Machine) error {
	data := make([]byte, x86test.DataBytes)
	for i := range x.t.Locations {
		l := &x.t.Locations[i]
		for k, v := range l.Values {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], v)
			copy(data[x.t.Address(i, k)-x86test.DataBase:], b[:l.Size()])
		}
		m.Names().AddSymbol(l.Name, arch.Addr(x.t.Address(i, 0)), l.Count*l.Size())
	}
	m.Memory().Map(x86test.DataBase, data, smp.PermRead|smp.PermWrite)
	for i, c := range x.code {
		at := smp.TextBase + arch.Addr(i*threadBytes)
		m.Memory().Map(at, c.Bytes, smp.PermRead|smp.PermExec)
		m.Names().AddSymbol(threadName(i), at, len(c.Bytes))
		m.Tasks().AddProgram(threadName(i), i, func(k *smp.Ctx) {
			r := k.Regs()
			for n, v := range x.t.Threads[i].Init {
				if arch.Reg(n) != m.Arch().SP {
					r.R[n] = v
				}
			}
			k.Call(at)
			x.left[i], x.done[i] = *k.Thread().Left(), true
		})
	}
	return nil
}

func threadName(i int) string { return fmt.Sprintf("P%d", i) }

// Begin implements Program.
func (x *X86) Begin() {
	clear(x.left)
	clear(x.done)
	for i := range x.last {
		copy(x.last[i].R[:], x.t.Threads[i].Init[:])
	}
}

// AddState implements Program.
func (x *X86) AddState(h *sim.Hash) {
	for i := range x.left {
		if !x.done[i] {
			h.Add(0)
			continue
		}
		h.Add(1)
		h.AddWords(x.left[i].R[:])
	}
}

// Outcome implements Program.
func (x *X86) Outcome(m *smp.Machine) (text string, holds, counts bool) {
	load := func(r *x86test.Ref) uint64 {
		if r.Proc >= 0 {
			return x.left[r.Proc].R[r.Reg]
		}
		v, _ := m.Memory().Load(arch.Addr(x.t.Address(r.Location, r.Element)), r.Size)
		return v
	}
	if x.t.Filter != nil && !x.t.Filter.Eval(load) {
		return "", false, false
	}
	var b strings.Builder
	for i := range x.t.Seen {
		r := &x.t.Seen[i]
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%s;", r.Name, x.t.Show(r, load(r)))
	}
	return b.String(), x.t.Cond.Eval(load), true
}
