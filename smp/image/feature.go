package image

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// featureTable lists the features that Debian's modules use, and a few that the kernel uses when
// it patches. Numbers are word:bit as in arch/x86/include/asm/cpufeatures.h of 6.1 and, after a
// slash, of 6.12 if it differs; - means that the kernel lacks the feature.
const featureTable = `
selfsnoop 0:27
rdtscp 1:27
constant_tsc 3:8
up 3:9
arch_perfmon 3:11
rep_good 3:16
lfence_rdtsc 3:18/20:2
nopl 3:20
always 3:21
popcnt 4:23
hypervisor 4:31
3dnowprefetch 6:8
kernel_ibrs 7:12
rsb_vmexit 7:13
msr_spec_ctrl 7:16
use_ibpb 7:21
xenpv 8:16
erms 9:9
smap 9:20
xsaves 10:3
entry_ibpb 11:10
retpoline 11:12
retpoline_lfence 11:13
rethunk 11:14
unret 11:15
rsb_vmexit_lite 11:17
clear_cpu_buf 11:18/3:18
call_depth -/11:19
srso_alias 11:25
ibpb_on_vmexit 11:26
fsrs -/12:11
nrips 15:3
tscratemsr 15:4
flushbyasid 15:6
decodeassists 15:7
v_spec_ctrl 15:20
pku 16:3
ospke 16:4
la57 16:16
fsrm 18:4
hybrid_cpu 18:15
arch_lbr 18:19
flush_l1d 18:28
debug_swap -/19:14
no_nested_data_bp -/20:0
srso_no 20:29
srso_bp_spec_reduce -/20:31
clear_bhb_loop_on_vmexit 21:4
clear_cpu_buf_vm 21:13
ibpb_exit_to_user 21:14
`

// A feature has a number in each kernel, or -1 if the kernel lacks it.
type feature struct {
	name    string
	numbers [2]int // 6.1, 6.12
}

var featureList = sync.OnceValue(func() []feature {
	number := func(s string) int {
		word, bit, ok := strings.Cut(s, ":")
		w, err := strconv.Atoi(word)
		b, err2 := strconv.Atoi(bit)
		if !ok || err != nil || err2 != nil {
			return -1
		}
		return w*32 + b
	}
	var list []feature
	for line := range strings.Lines(featureTable) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			continue
		}
		first, second, differs := strings.Cut(fields[1], "/")
		if !differs {
			second = first
		}
		list = append(list, feature{fields[0], [2]int{number(first), number(second)}})
	}
	return list
})

func numbering(v Version) int {
	if v.Before(6, 3) {
		return 0
	}
	return 1
}

// featureNumber returns word*32 + bit of a feature, or -1.
func featureNumber(name string, v Version) int {
	for _, f := range featureList() {
		if f.name == name {
			return f.numbers[numbering(v)]
		}
	}
	return -1
}

// featureName returns the name of a feature number, or word:bit.
func featureName(n int, v Version) string {
	for _, f := range featureList() {
		if f.numbers[numbering(v)] == n {
			return f.name
		}
	}
	return fmt.Sprintf("%d:%d", n/32, n%32)
}

func featureNames() []string {
	var names []string
	for _, f := range featureList() {
		names = append(names, f.name)
	}
	return names
}
