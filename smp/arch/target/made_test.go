package target_test

import (
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
)

// bytes are memory of one page, with the state of a CPU.
type bytes struct {
	b      [4096]byte
	system arch.System
}

const at arch.Addr = 0x20000000

func (m *bytes) Load(a arch.Addr, size int) (uint64, bool) { return arch.Word(m.b[a-at:][:size]), true }

func (m *bytes) Store(a arch.Addr, size int, v uint64) bool {
	for i := range size {
		m.b[int(a-at)+i] = byte(v >> (8 * i))
	}
	return true
}

func (m *bytes) System() arch.System { return m.system }

// The code that a row makes sets what it says, and stores what it says.
func TestMade(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	made := 0
	for p := range target.Words {
		row := target.Processor(p).Row(true)
		if row.Set == nil {
			continue
		}
		made++
		t.Run(row.Name, func(t *testing.T) {
			m := &bytes{system: row.BootSystem(0, 0)}
			run := func(code []byte, regs *arch.Regs) {
				for off := 0; off < len(code); {
					regs.IP = 0x1000 + arch.Addr(off)
					in, err := row.Decode(code[off:], regs.IP)
					require.NoError(t, err)
					require.Equal(t, arch.Next, in.Exec(regs, m), in)
					off += in.Size()
				}
			}
			for i := range 200 {
				v := r.Uint64() >> (i % 64)
				reg := row.Args[i%len(row.Args)]
				regs := arch.Regs{Flags: row.FixedFlag}
				run(row.Set(reg, v), &regs)
				require.Equal(t, v&(^uint64(0)>>(64-8*row.Word)), regs.R[reg], "%#x in %s", v, row.RegName(reg))

				b := make([]byte, r.IntN(40))
				for k := range b {
					b[k] = byte(r.Uint32())
				}
				clear(m.b[:])
				regs = arch.Regs{Flags: row.FixedFlag}
				regs.R[reg] = uint64(at) + 8
				run(row.Put(reg, b), &regs)
				require.Equal(t, hex.Dump(append(append(make([]byte, 8), b...), make([]byte, 64)...)),
					hex.Dump(m.b[:8+len(b)+64]))
			}
		})
	}
	require.NotZero(t, made)
}
