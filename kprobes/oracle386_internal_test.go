package kprobes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/engine/ftrace"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/properties"
	"kpsim/smp"
	processors "kpsim/smp/arch/target"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// bench386 is a bench of i386 with functions of 32-bit code.
func bench386(t *testing.T, s Settings, codes []code, program func(b *bench, x *smp.Ctx)) *bench {
	b := &bench{settings: s, handed: handed{}}
	m, err := smp.New(smp.Config{CPUs: 1, Arch: processors.I386.Row(true), Full: s.Kernel.Preemption, Budget: 1 << 30},
		&b.log)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	b.locks = properties.NewMonitors(m.Arch(), &properties.Locks)
	b.m, b.k = m, kernel.Boot(m, kernel.Config{Exec: Memory(0, 0), Preemptible: s.Kernel.Preemption})
	b.ftrace = ftrace.New(ftrace.Deps{Boot: b.k, Cells: &m.Cells, Text: &b.k.Text, Patch: &b.k.Poke, RCU: &b.k.RCU,
		Traps: &b.k.Traps, ModuleMutex: b.k.Modules.Mutex})
	for _, c := range codes {
		m.Memory().Map(c.at, c.bytes, smp.PermRead|smp.PermExec)
		m.Names().AddSymbol(c.name, c.at, len(c.bytes))
		b.k.Symbols.Add(kapi.Function{Name: c.name, Addr: c.at, Size: len(c.bytes)}, nil)
	}
	m.Tasks().AddProgram("program", 0, func(x *smp.Ctx) { program(b, x) })
	m.Freeze()
	return b
}

// TestOracle386 is TestOracle of the real i386 kernel, for streams of random instructions.
func TestOracle386(t *testing.T) {
	codes, at := oracleCodes(t, "k61i386", "modes")
	for _, kind := range []string{"pre", "post", "disabled", "near", "twosame", "twoprepost"} {
		rows := readOracle(t, "k61i386", "modes_"+kind)
		require.NotEmpty(t, rows)
		t.Run(kind, func(t *testing.T) {
			s := Settings{Settings: era.Of(rules.Edition65, true)}
			s.Kernel = rules.K61I386
			agree, asked := 0, 0
			b := bench386(t, s, codes, func(b *bench, x *smp.Ctx) {
				for i, r := range rows {
					if i%less != 0 {
						continue
					}
					asked++
					if b.compareRow(t, x, kind, at[r[0]], r) {
						agree++
					}
				}
			})
			b.pass(t)
			t.Logf("%d rows, %d asked, %d agree", len(rows), asked, agree)
			require.Equal(t, asked, agree)
		})
	}
}
