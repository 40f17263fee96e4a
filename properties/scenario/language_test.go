package scenario

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/isa"
)

// The reference has every call of the language as it is, and its example loads.
func TestLanguageReference(t *testing.T) {
	raw, err := os.ReadFile("LANGUAGE.md")
	require.NoError(t, err)
	doc := string(raw)

	for _, v := range language {
		if v.name() != "machine" { // has a row for each parameter
			require.Contains(t, doc, "`"+v.sig+"`", v.name())
			continue
		}
		_, params, _ := strings.Cut(strings.TrimSuffix(v.sig, ")"), "(")
		for _, p := range strings.Split(params, ", ")[1:] {
			require.Contains(t, doc, "`… "+p+"`")
		}
	}
	for _, e := range exports {
		require.Contains(t, doc, "`"+e+"`")
	}

	stands := strings.NewReplacer("parser.o", "probe_targets.o", "parse_header", "checksum", "crc16.ko", "module.ko", "crc16", "pure")
	examples := strings.Split(doc, "```python\n")[1:]
	require.Len(t, examples, 2)
	for _, example := range examples {
		example, _, _ = strings.Cut(example, "```")
		s, err := Load("mine.star", []byte(stands.Replace(example)), func(file string) ([]byte, error) {
			if file == "module.ko" {
				return os.ReadFile("testdata/module.ko")
			}
			return OpenBuiltin(file)
		})
		require.NoError(t, err)
		require.Equal(t, "mine", s.Name)
	}
}

// Addresses of the kernel's exports are in the bytes of traces: this list only
// grows.
func TestKernelExports(t *testing.T) {
	require.Equal(t, []string{"cond_resched", "do_exit", "jprobe_return"}, KernelExports())
	at, ok := KernelExport("cond_resched")
	require.True(t, ok)
	require.Equal(t, isa.Addr(0xffffffff82000000), at)
	_, ok = KernelExport("victim")
	require.False(t, ok)
}
