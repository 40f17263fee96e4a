package flags

import (
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Each flag with a number or a duration has its range in its tag, range:"1..64". The range is
// checked here, for all commands, and shown by --help. Its ends are whole numbers, or durations
// with a unit.
const rangeTag = "range"

// AnyNumber is the largest seed: a flag with this range accepts any.
const AnyNumber = "18446744073709551615"

// RangeOf returns a flag's range from its tag.
func RangeOf(v *kong.Value) (least, most string, ok bool) {
	return strings.Cut(v.Tag.Get(rangeTag), "..")
}

// shortly formats a number for a message.
func shortly(n string) string {
	if n == AnyNumber {
		return "2^64-1"
	}
	return n
}

// HelpWithRange returns a flag's help text with its range.
func HelpWithRange(v *kong.Value) string {
	least, most, ok := RangeOf(v)
	if !ok || most == AnyNumber {
		return v.Help
	}
	return strings.TrimSuffix(v.Help, ".") + fmt.Sprintf("; %s to %s.", least, most)
}

// OutOfRange returns an error for the first flag of a command line whose value is outside its
// range.
func OutOfRange(ctx *kong.Context) error {
	for _, f := range ctx.Flags() {
		least, most, ok := RangeOf(f.Value)
		t := f.Target
		if t.Kind() == reflect.Pointer {
			if t.IsNil() {
				continue
			}
			t = t.Elem()
		}
		if _, own := f.Target.Addr().Interface().(kong.MapperValue); !ok || own { // the type parses its own values
			continue
		}
		n, said := numberOf(t)
		if n.Cmp(End(least)) < 0 || n.Cmp(End(most)) > 0 {
			return fmt.Errorf("--%s: %s is out of range; give %s to %s", f.Name, said, least, shortly(most))
		}
	}
	return nil
}

// numberOf returns a flag's value as a number and as text.
func numberOf(v reflect.Value) (n *big.Int, said string) {
	n = new(big.Int)
	if v.CanUint() {
		n.SetUint64(v.Uint())
	} else {
		n.SetInt64(v.Int())
	}
	return n, fmt.Sprint(v.Interface())
}

// End parses an end of a range.
func End(s string) *big.Int {
	if d, err := time.ParseDuration(s); err == nil && strings.ContainsAny(s, "smh") {
		return big.NewInt(int64(d))
	}
	n, _ := new(big.Int).SetString(s, 10)
	return n
}
