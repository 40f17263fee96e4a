package library

// efforts say of a built-in scenario after how many schedules of the portfolio the
// race that it is about shows: the median over 24 seeds, rounded up, of the canary of
// a Never or of what a Sometimes expects. What isn't here shows within a hundred.
// TestTour -tours 24 measures them again.
var efforts = []struct {
	name  string
	found uint64
}{
	{"arrays-of-jumps", 200},
	{"batch-beside-probe", 5000},
	{"bpf-enters", 300},
	{"cancel-detour", 4000},
	{"cancel-detour-interrupted", 4000},
	{"cancel-detour-pages", 300},
	{"cpu-goes-stopped", 2000},
	{"cpu-refuses", 300},
	{"debugger-in-jump", 200},
	{"detour-post", 200},
	{"direct-beside", 300},
	{"flag-early", 700},
	{"full-rcu", 4000},
	{"jump-label-flip", 200},
	{"jump-once", 5000},
	{"module-init", 5000},
	{"never-schedules-resched", 200},
	{"never-schedules-stack-check", 600},
	{"never-schedules-tasks", 200},
	{"nmi-on-text", 13000},
	{"no-sail-past", 300},
	{"optimization-off", 700},
	{"order-batch", 1800},
	{"order-grace", 400},
	{"order-hotplug", 400},
	{"order-work", 600},
	{"post-leaves", 500},
	{"read-in-the-middle", 1100},
	{"register-race", 200},
	{"return-nmi", 1300},
	{"return-nmi-five", 4000},
	{"return-nmi-leak", 2500},
	{"return-nmi-seven", 2000},
	{"return-siblings", 200},
	{"return-storm", 200},
	{"ring-of-the-gone", 300},
	{"second-instruction", 1000},
	{"second-instruction-preempted", 2000},
	{"slot-before-grace", 200},
	{"static-call-flip", 300},
	{"static-call-probes", 1200},
	{"stop-machine-alone", 500},
	{"stop-machine-free", 3000},
	{"switches", 300},
	{"torn-jump", 400},
	{"uprobe-threads", 300},
}

// easyEffort is that of what isn't in the table.
const easyEffort = 100

// Effort returns after how many schedules a built-in scenario's race shows, in the
// median over seeds.
func Effort(name string) uint64 {
	for _, e := range efforts {
		if e.name == name {
			return e.found
		}
	}
	return easyEffort
}
