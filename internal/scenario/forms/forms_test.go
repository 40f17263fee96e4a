package forms_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/forms"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/twoengines"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/linux"
	"kpsim/linux/mutate"
	"kpsim/smp/arch/target"
)

// processors are those with forms.
var processors = []target.Processor{target.RISCV64, target.ARM64, target.PPC64LE}

// Programs are checked and printed like others.
func TestPrograms(t *testing.T) {
	require.Nil(t, forms.Programs(scenario.Machine{}))
	for _, p := range processors {
		m := scenario.Machine{Arch: p, CPUs: 2}
		m.Settle()
		for _, sc := range forms.Programs(m) {
			require.NoError(t, lang.Check(sc), sc.Name)
			again, err := lang.Load(sc.Name, []byte(lang.Print(sc)), nil)
			require.NoError(t, err, sc.Name)
			require.Equal(t, lang.Print(sc), lang.Print(again))
		}
	}
}

// answers runs a program on a kernel, and by the rules.
func answers(t *testing.T, sc *scenario.Scenario, k *linux.Kernel, mutant string) (kernels, ours *twoengines.Answers) {
	one, two, err := twoengines.On(sc, k)
	require.NoError(t, err)
	ours, err = twoengines.Answer(two, "")
	require.NoError(t, err)
	if kernels, err = twoengines.Answer(one, mutant); err != nil {
		return new(twoengines.Answers), ours
	}
	return kernels, ours
}

// Kernels answer as the rules say, register all probes, and hit them.
func TestKernels(t *testing.T) {
	for _, p := range processors {
		k := opened(t, p)
		for _, sc := range forms.Programs(twoengines.Machine(k)) {
			kernels, ours := answers(t, sc, k, "")
			require.True(t, ours.Passed, "%s: %s", sc.Name, ours.End)
			assert.Empty(t, twoengines.Differences(kernels, ours), sc.Name)
			for _, line := range ours.API {
				require.True(t, !strings.Contains(line, "answers") || strings.HasSuffix(line, "answers 0"), line)
			}
		}
	}
}

func opened(t *testing.T, p target.Processor) *linux.Kernel {
	k, err := linux.Open(kerneltest.PathOn(t, p.String(), "6.12"))
	require.NoError(t, err)
	linux.Give(k)
	return k
}

// equivalent are mutants that change nothing: numbers of registers have five bits, of arm64's the highest isn't jumped
// to, and what a trap leaves for the stack pointer isn't loaded.
var equivalent = []string{"never:simulate_jal+0xe", "never:simulate_jalr+0x16", "never:simulate_jalr+0x1e",
	"never:simulate_auipc+0xe", "never:simulate_c_jr+0xe", "never:simulate_c_jalr+0xe",
	"off-by-one:simulate_adr_adrp+0xc", "off-by-one:simulate_br_blr_ret+0x8", "never:simulate_br_blr_ret+0xc"}

// Mutants of the kernel's functions that execute instructions are answered otherwise.
func TestMutants(t *testing.T) {
	step := thorough.Of(24, 1)
	for _, p := range processors {
		k := opened(t, p)
		programs := forms.Programs(twoengines.Machine(k))
		for i, m := range mutate.All(k.Closure) {
			_, place, _ := strings.Cut(m.Name, ":")
			if i%step == 0 && strings.HasPrefix(place, "simulate_") && !slices.Contains(equivalent, m.Name) {
				require.True(t, slices.ContainsFunc(programs, func(sc *scenario.Scenario) bool {
					kernels, ours := answers(t, sc, k, m.Name)
					return twoengines.Differences(kernels, ours) != ""
				}), "%v %s", p, m.Name)
			}
		}
	}
}
