package image

import (
	"fmt"
	"strings"
)

// A Version is that of a kernel.
type Version struct{ Major, Minor int }

// Before reports whether v is older than major.minor.
func (v Version) Before(major, minor int) bool {
	return v.Major < major || v.Major == major && v.Minor < minor
}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// A Boot is what a kernel knows of itself and of its processor when it patches
// text for good: while it boots, or loads a module.
type Boot struct {
	// Version is the kernel's. Zero: the version that the object was built for
	// (vermagic in .modinfo), or 6.12 if the object names none. Kernels before
	// 6.3 patch like 6.1, the later ones like 6.12.
	Version Version
	// Features are names as X86_FEATURE_ has them, in lower case and separated
	// by commas: "smap,erms,rethunk". What isn't named is absent; "always" is
	// there by itself, "up" is a machine that has one processor while it boots:
	// lock prefixes are taken away. Refused are call_depth and indirect_thunk_its: they move
	// calls to thunks that are made at run time.
	Features string
	// Preempt is the model that dynamic preemption was booted into: "none",
	// "voluntary" or "full". It decides what cond_resched and the like are.
	Preempt string
}

// StockBoot is the processor of the recorded kernels, qemu's "max" without
// acceleration, as far as modules ask for it, and their command line: retpolines
// are kept, returns are "ret; int3".
var StockBoot = Boot{
	Features: "retpoline,selfsnoop,rdtscp,rep_good,lfence_rdtsc,nopl,popcnt,hypervisor,3dnowprefetch,erms,smap,pku,ospke,la57",
	Preempt:  "voluntary",
}

// features is a processor: the numbers of what it has.
type features map[int]bool

// features looks up the names.
func (b *Boot) features(v Version) (features, error) {
	has := features{featureNumber("always", v): true}
	for name := range strings.SplitSeq(b.Features, ",") {
		name = strings.TrimSpace(name)
		switch n := featureNumber(name, v); {
		case name == "":
		case name == "call_depth" || name == "indirect_thunk_its":
			return nil, fmt.Errorf("feature %s: text that is patched for it isn't modelled: leave it out", name)
		case n < 0:
			return nil, fmt.Errorf("feature %s: no kernel module asks for it: write one of %s", name,
				strings.Join(featureNames(), ", "))
		default:
			has[n] = true
		}
	}
	return has, nil
}
