package check

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/ui/cli"
	"kpsim/kprobes/rules"
	"kpsim/kprobes/survey"
	"kpsim/smp/image"
)

// Whatever a name holds, a line is JSON, and says the name.
func TestAppendJSON(t *testing.T) {
	for _, s := range []string{"", "f", `a"b`, `a\b`, "a\x01b", "\x7f", "é", "<>&", "\u2028", "\xff"} {
		var got string
		require.NoError(t, json.Unmarshal(appendJSON(nil, s), &got), "%q", s)
		assert.Equal(t, strings.ToValidUTF8(s, "\ufffd"), got)
	}
}

// On a terminal there are colours, which take no room, and bars.
func TestCheckTerminal(t *testing.T) {
	data, err := os.ReadFile("../../../cmd/kpsim/testdata/mine/reasons.o")
	require.NoError(t, err)
	o, err := image.ParseELF("reasons.o", data)
	require.NoError(t, err)
	m, err := o.Load(objectBase, image.StockBoot, nil)
	require.NoError(t, err)
	plain, colours := terminal(m, false), terminal(m, true)
	assert.NotContains(t, plain, "\x1b")
	assert.NotContains(t, plain, "█")
	assert.Contains(t, colours, cli.Painted(cli.Red, "-EINVAL")+"  -      ")
	assert.Contains(t, colours, cli.Painted(cli.Green, "yes, 6 bytes")+"\n")
	assert.Regexp(t, `registrable +\d+ +\d+\.\d %  █{28}▉`, colours)
	bare := regexp.MustCompile("\x1b\\[[0-9;]*m|  [█▏▎▍▌▋▊▉]+").ReplaceAllString(colours, "")
	assert.Equal(t, plain, bare)
}

func terminal(m *image.Module, is bool) string {
	var out bytes.Buffer
	p := cli.New(&out, &out)
	if is {
		p.Colour, p.Width = true, 100
	}
	c := Check{All: true}
	w := bufio.NewWriter(&out)
	totals := c.printInstructions(p, w, survey.New(m, rules.K61), m.Symbols)
	printTotals(p, w, &totals)
	w.Flush()
	return out.String()
}
