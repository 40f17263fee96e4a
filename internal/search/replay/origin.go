package replay

import (
	"cmp"
	"fmt"
	"strings"

	"kpsim/internal/nearest"
	"kpsim/properties"
	"kpsim/traces"
)

// ignoredBy returns the properties after whose violation the run of a trace goes on. An error is
// about the file's origin.
func ignoredBy(name string, f *traces.File) (properties.Set, error) {
	words := fieldsOf(f.Remark(traces.OriginIgnored))
	s, err := properties.Named(words...)
	if err != nil {
		hint := ""
		for _, w := range words {
			if _, ok := properties.ByName(w); !ok && hint == "" {
				hint = nearest.DidYouMean(w, properties.Every.Names())
			}
		}
		return 0, fmt.Errorf("%s: origin: %s: %w; %s", name, traces.OriginIgnored, err,
			cmp.Or(hint, "kpsim list prints those that there are"))
	}
	return s, nil
}

func fieldsOf(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// RemarkIgnored is the origin's line that lists those properties.
func RemarkIgnored(s properties.Set) traces.Remark {
	return traces.Remark{Key: traces.OriginIgnored, Value: strings.Join(s.Names(), ", ")}
}
