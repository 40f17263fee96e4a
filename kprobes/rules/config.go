package rules

import (
	"fmt"
	"slices"
	"strings"
)

// An option is a word of a kernel's configuration that the rules depend on.
type option struct {
	name  string
	set   *bool
	stays bool // keeps its value unless it is named
}

func (k *Kernel) options() []option {
	return []option{{"PREEMPTION", &k.Preemption, false}, {"RETPOLINE", &k.Retpoline, false}, {"IBT", &k.IBT, false},
		{"FTRACE", &k.Ftrace, false}, {"OPTPROBES", &k.Optprobes, true}}
}

// Options returns the names of the options that k is built with, in a fixed order.
func (k Kernel) Options() (names []string) {
	for _, o := range k.options() {
		if *o.set {
			names = append(names, o.name)
		}
	}
	return names
}

// Configure builds k with the options of a list: some of PREEMPTION, RETPOLINE, IBT and
// FTRACE, joined by commas, or none; the others are off. OPTPROBES stays as it was
// unless it is named: OPTPROBES=n. An option may begin with CONFIG_ and end with =y or
// =n, in any case. The error says what is allowed.
func (k *Kernel) Configure(list string) error {
	options := k.options()
	for _, o := range options {
		*o.set = *o.set && o.stays
	}
	if list == "none" {
		return nil
	}
	for word := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(word), "=")
		i := slices.IndexFunc(options, func(o option) bool {
			return o.name == strings.TrimPrefix(strings.ToUpper(name), "CONFIG_")
		})
		switch {
		case name == "":
		case i < 0 || value != "" && value != "y" && value != "n":
			return fmt.Errorf("the rules ask for no such option; write some of " +
				"PREEMPTION,RETPOLINE,IBT,FTRACE, or none, or OPTPROBES=n")
		default:
			*options[i].set = value != "n"
		}
	}
	return nil
}

// ParseProfile returns the recorded kernel with a name: k61 or k612.
func ParseProfile(name string) (k Kernel, ok bool) {
	switch name {
	case "k61":
		return K61, true
	case "k612":
		return K612, true
	}
	return k, false
}
