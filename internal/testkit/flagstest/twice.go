package flagstest

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/cli/flags"
)

// Twice gives each flag of each command twice: a list must have both values, and any other flag
// must be refused by flags.Check. parse reads a command line from scratch and returns the result.
// A flag that several commands share is only tried with all of them if KPSIM_THOROUGH=1 is set.
func Twice(t *testing.T, at *kong.Node, parse func(args []string) (*kong.Context, error)) {
	type sort struct {
		name string
		of   reflect.Type
	}
	tried := make(map[sort]bool)
	var each func(at *kong.Node)
	each = func(at *kong.Node) {
		if at.Leaf() {
			for _, f := range slices.Concat(at.AllFlags(false)...) {
				s := sort{f.Name, f.Target.Type()}
				if f.Name != "help" && (!tried[s] || thorough.Set()) {
					tried[s] = true
					t.Run(strings.TrimSpace(at.Path())+" --"+f.Name, func(t *testing.T) { twice(t, at, f, parse) })
				}
			}
		}
		for _, n := range at.Children {
			each(n)
		}
	}
	each(at)
}

func twice(t *testing.T, at *kong.Node, f *kong.Flag, parse func(args []string) (*kong.Context, error)) {
	once := needed(at, f)
	one, two := values(f)
	if f.IsBool() {
		one, two = "--"+f.Name, "--"+f.Name
	} else {
		one, two = "--"+f.Name+"="+one, "--"+f.Name+"="+two
	}
	for _, arg := range []string{one, two} {
		ctx, err := parse(append(once[:len(once):len(once)], arg))
		require.NoError(t, err, "%v %s", once, arg)
		require.NoError(t, flags.Check(ctx), "%v %s", once, arg)
	}
	ctx, err := parse(append(once[:len(once):len(once)], one, two))
	require.NoError(t, err)
	err = flags.Check(ctx)
	if !f.IsCumulative() {
		require.ErrorContains(t, err, "--"+f.Name+": it is given 2 times")
		require.NotContains(t, err.Error(), "\n")
		return
	}
	require.NoError(t, err)
	for _, given := range ctx.Flags() {
		if given.Name == f.Name {
			require.Equal(t, 2, given.Target.Len(), "both are taken")
		}
	}
}

// needed returns the words of a command line that is complete except for one flag.
func needed(at *kong.Node, but *kong.Flag) []string {
	words := strings.Fields(at.Path())
	for n := at; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if f.Required && f != but {
				one, _ := values(f)
				words = append(words, "--"+f.Name+"="+one)
			}
		}
	}
	for _, v := range at.Positional {
		if v.Required {
			one, _ := scalars(v, v.Target.Type())
			words = append(words, one)
		}
	}
	return words
}

// values returns two valid values of a flag.
func values(f *kong.Flag) (one, two string) {
	kind := f.Target.Type()
	if f.IsCumulative() {
		kind = kind.Elem()
	}
	return scalars(f.Value, kind)
}

func scalars(v *kong.Value, kind reflect.Type) (one, two string) {
	for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
		kind = kind.Elem()
	}
	least, most, ranged := flags.RangeOf(v)
	switch {
	case v.Enum != "":
		list := strings.Split(v.Enum, ",")
		return strings.TrimSpace(list[0]), strings.TrimSpace(list[len(list)-1])
	case v.Tag.Type == "existingfile": // a file of the package under test
		return "doc.go", "main.go"
	case ranged:
		return least, most
	case kind == reflect.TypeFor[time.Duration]():
		return "1s", "2s"
	case kind.Kind() == reflect.String:
		return "a", "b"
	}
	return "1", "2"
}
