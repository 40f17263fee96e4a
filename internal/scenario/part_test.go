package scenario_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
)

// TestEveryListHasARow: each list of a scenario is that of one row.
func TestEveryListHasARow(t *testing.T) {
	fields := reflect.TypeFor[scenario.Scenario]()
	n := 0
	for i := range fields.NumField() {
		if fields.Field(i).Type.Kind() != reflect.Slice {
			continue
		}
		n++
		var s scenario.Scenario
		f := reflect.ValueOf(&s).Elem().Field(i)
		f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		rows := 0
		for _, l := range scenario.Lists {
			rows += l.Len(&s)
		}
		require.Equal(t, 1, rows, "%s: give it a row in Lists", fields.Field(i).Name)
	}
	require.Len(t, scenario.Lists, n)
}

// TestEveryFieldHasAParameter: each field of a part is what a parameter of one of its makers
// holds, or what tells the makers apart.
func TestEveryFieldHasAParameter(t *testing.T) {
	apart := map[string]bool{"Probe.Kind": true, "Source.Kind": true, "Data.PerCPU": true, "Text.Own": true}
	for _, l := range scenario.Lists {
		held := make(map[string]bool)
		var all []string
		for _, m := range l.Makers {
			x := l.New(m)
			v := reflect.ValueOf(x).Elem()
			at := make(map[any]string)
			all = all[:0]
			for i := range v.NumField() {
				name := v.Type().Name() + "." + v.Type().Field(i).Name
				at[v.Field(i).Addr().Interface()] = name
				all = append(all, name)
			}
			for _, a := range m.Params {
				switch p := a.At(x).(type) {
				case scenario.Place:
					held[at[p.Func]], held[at[p.Offset]] = true, true
				case scenario.Size:
					held[at[p.At]] = true
				case scenario.Word:
					for q, name := range at {
						held[name] = held[name] || reflect.ValueOf(q).Pointer() == reflect.ValueOf(p.At).Pointer()
					}
				case *scenario.Probe:
					held[at[&p.Entry]], held[at[&p.Pre]] = true, true
				default:
					require.Contains(t, at, p, "%s(%s)", m.Word, a.Name)
					held[at[p]] = true
				}
			}
		}
		for _, name := range all {
			require.True(t, held[name] || apart[name], "%s: no function of the language takes it", name)
		}
	}
}

// TestDrop: an edit leaves the scenario that it was made from as it is.
func TestDrop(t *testing.T) {
	for _, l := range scenario.Lists {
		var s scenario.Scenario
		l.Add(&s, l.New(l.Makers[0]))
		c := s
		l.Clone(&c)
		l.Drop(&c, 0)
		require.Equal(t, 1, l.Len(&s))
		require.Zero(t, l.Len(&c))
	}
}
