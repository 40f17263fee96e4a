package explore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
)

// Functions of an object of i386 are probed, and give what they give without a probe: calls
// within it and out of it, its tables, its strings and its variables are found.
func TestObject386(t *testing.T) {
	open := func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join("..", "..", "..", "smp", "image", "testdata", name))
	}
	const text = `
machine(cpus = 2, %s edition = "6.9", preempt = "full")
elsewhere = text("elsewhere", "83c002 c3")                           # add $2,%%eax; ret
o = elf(%q)
k = kprobe("k", at = o["weigh"], pre = [count()])
l = kprobe("l", at = o["sum"] + 1, pre = [count()])
task(cpu = 0, ops = [register(k, errno = 0), register(l, errno = 0), wait_optimized(),
    call(o["sum"], 4, returns = 15 + 6 + 97), unregister(l), unregister(k)])
task(cpu = 1, ops = [call(o["weigh"], 0, 2, returns = 2)], repeat = 3)
`
	// sum(4): weigh(4, 3) is 15, elsewhere(4) is 6, and the first letter of "a" is 97
	sc, err := lang.Load("object386.star", []byte(fmt.Sprintf(text, `arch = "i386",`, "link32.o")), open)
	require.NoError(t, err)
	res, err := explore.Run(explore.Spec{Scenario: sc, Runs: 60})
	require.NoError(t, err)
	require.Empty(t, res.Broken)

	_, err = lang.Load("wrong.star", []byte(fmt.Sprintf(text, "", "link32.o")), open)
	require.ErrorContains(t, err,
		`link32.o: 32-bit code, and the machine is of x86-64; compile it with -m64, or write machine(arch = "i386") above`)
	_, err = lang.Load("wrong.star", []byte(fmt.Sprintf(text, `arch = "i386",`, "link.o")), open)
	require.ErrorContains(t, err,
		"link.o: code of x86-64, and the machine is of i386; compile it with -m32 -mregparm=3")
}
