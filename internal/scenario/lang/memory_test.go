package lang_test

import (
	_ "kpsim/linux/boot" // another engine

	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/smp"
)

func TestMemory(t *testing.T) {
	program := func(machine string) []byte {
		return []byte("f = text(\"f\", \"c3\")\n" + machine + "\ntask(\"t\", ops = [call(f)])\nnever()\n")
	}
	s, err := lang.Load("m.star", program(`machine(cpus = 2, memory = "tso")`), nil)
	require.NoError(t, err)
	require.Equal(t, smp.TSO, s.Machine.Memory)
	require.Contains(t, lang.Print(s), `machine(cpus = 2, memory = "tso")`)

	s, err = lang.Load("m.star", program(`machine(cpus = 2, memory = "sc")`), nil)
	require.NoError(t, err)
	require.NotContains(t, lang.Print(s), "memory", "scenarios of old print as before")

	for _, x := range [][2]string{
		{`machine(memory = "tos")`, `m.star:2:9: memory = "tos" isn't known; it is one of "sc", "tso", "lkmm"`},
		{`machine(memory = "lkmm", engine = "linux")`,
			`m.star:2:9: memory = "lkmm" is of the cells of an engine in Go; those of engine "linux" are memory, so say "sc" or "tso"`},
		{`machine(cpus = 64, memory = "tso")`,
			`m.star:2:9: cpus = 64 is out of range under memory = "tso"; at most 63 CPUs hold stores`},
	} {
		_, err := lang.Load("m.star", program(x[0]), nil)
		require.EqualError(t, err, x[1])
	}
}
