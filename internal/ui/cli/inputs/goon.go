package inputs

import (
	"fmt"
	"strings"

	"kpsim/internal/ui/cli"
	"kpsim/properties"
)

// Ignoring holds the flag for properties that don't count.
type Ignoring struct {
	Ignore []string `placeholder:"PROPERTY,…" help:"Go on after these properties were broken, as if they didn't exist: names or IDs, as T1,no-sail-past; may be given many times. Later violations may follow from them. Nothing is expected then."`

	Ignored properties.Set `kong:"-"` // Ignore, as a set
}

// GoOn holds the flags for violations after which runs go on.
type GoOn struct {
	Ignoring
	AllProperties bool `help:"Go on after every violation, and show all properties that break, each with its own witness. Nothing is expected then."`
}

// Check returns an error if an ignored property doesn't exist.
func (f *Ignoring) Check() (err error) {
	for _, name := range f.Ignore {
		if _, ok := properties.ByName(name); !ok {
			return fmt.Errorf("--ignore: %w", cli.Known("property", name, append(PropertyNames(), propertyIDs()...)))
		}
	}
	f.Ignored, err = properties.Named(f.Ignore...)
	return err
}

// Past returns the properties after whose violation runs go on and which count.
func (f *GoOn) Past() properties.Set {
	if f.AllProperties {
		return properties.Every
	}
	return 0
}

func propertyIDs() (ids []string) {
	for _, p := range properties.All {
		ids = append(ids, p.ID)
	}
	return ids
}

// Words returns the flags as typed.
func (f *GoOn) Words() (words []string) {
	if f.Ignored != 0 {
		words = append(words, "--ignore", strings.Join(f.Ignored.Names(), ","))
	}
	if f.AllProperties {
		words = append(words, "--all-properties")
	}
	return words
}

// Says returns why nothing is expected; "" if something is.
func (f *GoOn) Says() string {
	switch {
	case f.AllProperties && f.Ignored != 0:
		return "all properties but " + cli.List(f.Ignored.Names())
	case f.AllProperties:
		return "all properties"
	case f.Ignored != 0:
		return "ignored " + cli.List(f.Ignored.Names())
	}
	return ""
}

// Followed says how many of the runs that broke a property had broken another one before; "" if
// none had.
func Followed(after, of uint64, ignored properties.Set) string {
	what := "another property was broken before"
	if names := ignored.Names(); len(names) == 1 {
		what = names[0] + " was broken before"
	}
	switch {
	case after == 0:
		return ""
	case after == of:
		return what + " in all of them: it may be a consequence"
	}
	return fmt.Sprintf("%s in %d of them", what, after)
}
