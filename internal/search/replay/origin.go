package replay

import (
	"fmt"
	"strings"

	"kpsim/properties"
	"kpsim/traces"
)

// ignoredBy is what the run of a trace file goes on after. An error is about its origin.
func ignoredBy(name string, f *traces.File) (properties.Set, error) {
	s, err := properties.Named(fieldsOf(f.Remark(traces.OriginIgnored))...)
	if err != nil {
		return 0, fmt.Errorf("%s: origin: %s: %w", name, traces.OriginIgnored, err)
	}
	return s, nil
}

func fieldsOf(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// RemarkIgnored is the origin's line of what a run goes on after.
func RemarkIgnored(s properties.Set) traces.Remark {
	return traces.Remark{Key: traces.OriginIgnored, Value: strings.Join(s.Names(), ", ")}
}
