package lang_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
)

// The examples of the reference load.
func TestLanguageReference(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/scenarios.md")
	require.NoError(t, err)
	doc := string(raw)

	for _, e := range scenario.KernelExports() {
		require.Contains(t, doc, "`"+e+"`")
	}

	stands := strings.NewReplacer("parser.o", "probe_targets.o", "parse_header", "checksum", "crc16.ko", "module.ko",
		"crc16", "pure")
	examples := strings.Split(doc, "```python\n")[1:]
	require.Len(t, examples, 3)
	for _, example := range examples {
		example, _, _ = strings.Cut(example, "```")
		s, err := lang.Load("mine.star", []byte(stands.Replace(example)), func(file string) ([]byte, error) {
			if file == "module.ko" {
				return os.ReadFile("../testdata/module.ko")
			}
			return library.Open(file)
		})
		require.NoError(t, err)
		require.Equal(t, "mine", s.Name)
	}
}
