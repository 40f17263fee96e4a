package linux_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
	"kpsim/sched"
	"kpsim/smp"
)

// direct returns a scenario of the library on a kernel.
func direct(t *testing.T, k *linux.Kernel, name string) *scenario.Scenario {
	sc, err := library.Load(name)
	require.NoError(t, err)
	require.NoError(t, onlinux.Set(sc, k))
	require.True(t, sc.OwnClients())
	return sc
}

// TestClients: direct calls and trampolines of a kernel's own ftrace do in each schedule what the properties ask for,
// in each kernel at hand.
func TestClients(t *testing.T) {
	for _, path := range kerneltest.All(t) {
		t.Run(path, func(t *testing.T) {
			k, err := linux.Open(path)
			require.NoError(t, err)
			require.Empty(t, linux.ClientsLack(k))
			linux.Give(k)
			defer linux.Take(k)
			for _, name := range []string{"direct-leaves", "direct-modified", "direct-shares", "direct-refused",
				"direct-twice", "ftrace-trampoline", "ftrace-two", "ftrace-call", "bpf-changes", "bpf-enters", "bpf-exits",
				"bpf-leaves", "bpf-sleeps", "bpf-sleeps-again", "bpf-dispatcher", "bpf-tail-call"} {
				sc, err := library.Load(name)
				require.NoError(t, err)
				if err := onlinux.Set(sc, k); name == "direct-shares" && !linux.SharesDirects(k) ||
					name == "direct-refused" && linux.SharesDirects(k) {
					require.ErrorContains(t, err, "a direct call and a live patch")
					continue
				} else if name == "ftrace-two" && !linux.TellsClients(k) {
					require.ErrorContains(t, err, "before 5.11")
					continue
				} else if k.Preemptible() && (name == "bpf-dispatcher" || name == "bpf-tail-call") {
					require.ErrorContains(t, err, "read-side sections of RCU")
					continue
				}
				r := rigOf(t, k, direct(t, k, name))
				s := sched.NewSticky(sched.Params{Seed: 1, Length: r.Run(new(sched.Default)).Counts.Points})
				for i := range uint64(5) {
					s.Begin(i)
					run := r.Run(s)
					s.End(run.Counts.Points)
					require.Equal(t, smp.Passed, run.Outcome, "%s, schedule %d: %s", name, i, run.Finding.Message)
				}
			}
		})
	}
}

// again has clients that come twice: what the first time leaves behind is in the way of the second.
const again = "testdata/services/clients.star"

// TestClientsBroken: what is broken in a kernel's ftrace is noticed.
func TestClientsBroken(t *testing.T) {
	k, err := linux.Open(kerneltest.Path(t, "6.12"))
	require.NoError(t, err)
	linux.Give(k)
	defer linux.Take(k)
	for _, c := range []struct{ mutant, scenario, property string }{
		{"", again, ""},
		{"ftrace_shutdown.part.0:synchronize_rcu_tasks:1", "direct-leaves", "O1"},
		{"ftrace_shutdown.part.0:ftrace_trampoline_free:1", "ftrace-trampoline", "H2"},
		{"ftrace_shutdown.part.0:arch_ftrace_update_code:1", "direct-leaves", "W1"},
		{"ftrace_startup:arch_ftrace_update_code:1", "direct-leaves", "U2"},
		{"ftrace_startup:__ftrace_hash_rec_update:1", "direct-leaves", "W1"},
		{"__modify_ftrace_direct:ftrace_startup:1", "direct-modified", "W1"},
		{"__modify_ftrace_direct:unregister_ftrace_function:1", "direct-modified", "W1"},
		{"__modify_ftrace_direct:unregister_ftrace_function:1", "bpf-exits", "W1"},
		{"text_poke_bp:text_poke_bp_batch:1", "bpf-exits", "N3"},
		{"register_ftrace_direct:ftrace_find_rec_direct:1", "direct-modified", "X2"},
		{"register_ftrace_direct:add_hash_entry:2", "direct-leaves", "H1"},
		{"register_ftrace_direct:mutex_unlock:1", "direct-twice", "K1"},
		{"register_ftrace_direct:call_rcu_tasks:1", again, "H2"},
		{"unregister_ftrace_direct:unregister_ftrace_function:1", "direct-leaves", "U2"},
		{"unregister_ftrace_direct:remove_direct_functions_hash:1", again, "X2"},
		{"ftrace_get_addr_new:ftrace_find_rec_direct:1", "direct-leaves", "W1"},
		{"arch_ftrace_update_trampoline:set_memory_rox:1", "ftrace-trampoline", "O1"},
	} {
		t.Run(c.mutant, func(t *testing.T) {
			sc := load(t, c.scenario)
			require.NoError(t, onlinux.Set(sc, k))
			name := c.mutant
			if name != "" {
				name = "skip-call:" + name
			}
			r, err := rig.New(sc, name)
			require.NoError(t, err)
			defer r.Close()
			s := sched.NewPortfolio(sched.Params{Seed: 1, Length: r.Run(new(sched.Default)).Counts.Points})
			for n := range uint64(3000) {
				s.Begin(n)
				run := r.Run(s)
				s.End(run.Counts.Points)
				if run.Property != nil {
					require.Equal(t, c.property, run.Property.ID, "schedule %d: %s", n, run.Finding.Message)
					return
				}
				require.Equal(t, smp.Passed, run.Outcome, run.Finding.Message)
			}
			require.Empty(t, c.property, "it isn't noticed")
		})
	}
}
