package table

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/ui/cli"
)

type row struct {
	name  string
	share float64
	n     *int
}

// TestColumns: texts and JSON have the columns in their own order, from the same rows.
func TestColumns(t *testing.T) {
	columns := Columns[row]{
		{Head: "name", JSON: "name", Value: func(r row) any { return r.name }},
		{Head: "n", JSON: "n", Form: "%d", Late: true, Value: func(r row) any { return r.n }},
		{Head: "share %", JSON: "share", Form: "%.1f", Times: 100, Value: func(r row) any { return r.share }},
		{JSON: "only", Value: func(row) any { return "<json>" }},
		{JSON: "left,omitempty", Value: func(row) any { return "" }},
	}
	three := 3
	rows := []row{{"µs", 0.5, &three}, {"long name", -0.00001, nil}}
	var out bytes.Buffer
	p := cli.New(&out, &out)
	p.NamedJSON() // the first object says which kpsim it is
	grid := columns.Grid(rows)
	grid.Print(p, false)
	grid.Print(p, true)
	require.NoError(t, columns.PrintJSON(p, rows))
	p.Flush()
	require.Equal(t, `name       share %  n
µs            50.0  3
long name      0.0  -
| name      | share % | n |
|---|---:|---:|
| µs        |    50.0 | 3 |
| long name |     0.0 | - |
{"name":"µs","n":3,"share":0.5,"only":"<json>"}
{"name":"long name","n":null,"share":-0.00001,"only":"<json>"}
`, out.String())
	require.Equal(t, []string{"share %", "n"}, grid.Grouped("", 1, func(i int) string { return rows[i].name }).Head)
}
