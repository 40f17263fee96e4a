package image

import (
	"fmt"
	"strings"
)

// A Version is a kernel version.
type Version struct{ Major, Minor int }

// Before reports whether v is older than major.minor.
func (v Version) Before(major, minor int) bool {
	return v.Major < major || v.Major == major && v.Minor < minor
}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// A Boot is what a kernel knows about itself and its processor when it patches text permanently:
// at boot, or when loading a module.
type Boot struct {
	// Version is the kernel's version. Zero: the version that the object was built for (vermagic
	// in .modinfo), or 6.12 if the object names none. Kernels before 6.3 patch like 6.1, later
	// ones like 6.12.
	Version Version
	// Features lists names of X86_FEATURE_* in lower case, separated by commas:
	// "smap,erms,rethunk". Others are absent; "always" is always present. "up" means a machine
	// with one processor at boot, whose lock prefixes are removed. call_depth and
	// indirect_thunk_its are refused, because they move calls to thunks made at run time.
	Features string
	// Preempt is the model selected at boot with dynamic preemption: "none", "voluntary" or
	// "full". It decides what cond_resched and the like call.
	Preempt string
}

// StockBoot describes the processor of the recorded kernels, qemu's "max" without acceleration,
// as far as modules need it, and their command line: retpolines are kept, returns are "ret;
// int3".
var StockBoot = Boot{
	Features: "retpoline,selfsnoop,rdtscp,rep_good,lfence_rdtsc,nopl,popcnt,hypervisor,3dnowprefetch,erms,smap,pku,ospke,la57",
	Preempt:  "voluntary",
}

// features is the set of a processor's feature numbers.
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
