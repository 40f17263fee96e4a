package build_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/kpsimtest/build"
)

// What the builder makes is what the text makes.
func TestSame(t *testing.T) {
	s := build.New("mine").Says("it").Needs("interrupt")
	s.Machine().CPUs(3).Quiesce(build.QuiesceSched).Offline(2)
	o := s.ELF("victim.o")
	f := s.Text("f", "55 48 89 e5 53 5b 5d c3")
	d := s.Data("d").Hex("0102").Size(16)
	starts := s.Insns(f)
	k := s.Kprobe("k").At(f.Plus(starts[1]))
	k.Pre(build.Count(), build.Disable(k))
	r := s.Kretprobe("r").At(o.Func("victim")).Entry(build.Save("rdi")).
		Handler(build.Count(), build.Restore("rax")).DataSize(8)
	s.Task("prober").Ops(build.Register(k).Errno(""), build.RegisterAll(k), build.Unregister(k), build.Register(r))
	s.Task("caller").CPU(1).Repeat(2).
		Ops(build.Call(f, d.Plus(8), 7).Returns(-1).Bits(16), build.Expect(d.Plus(1), "02 00")).
		Ops(build.Online(2).Fails(build.OnlineFailsSchedActive))
	s.Timer(1).AtMost(2).Run(f).Args(1, d)
	s.Never().Canary("no-quiesce")

	want, err := lang.Load("mine.star", []byte(`
scenario("mine", says = "it", needs = "interrupt")
machine(cpus = 3, quiesce = "sched", offline = [2])
o = elf("victim.o")
f = text("f", "55 48 89 e5 53 5b 5d c3")
d = data("d", "0102", size = 16)
k = kprobe("k", at = f + 1, pre = [count(), disable("k")])
r = kretprobe("r", at = o.victim, entry = [save("rdi")], handler = [count(), restore("rax")], data_size = 8)
task("prober", ops = [register(k, errno = 0), register_all([k]), unregister(k), register(r)])
task("caller", cpu = 1, repeat = 2, ops = [call(f, d + 8, 7, returns = -1, bits = 16), expect(d + 1, "02 00"),
    online(2, fails = "sched:active")])
timer(1, at_most = 2, run = f, args = [1, d])
never(canary = "no-quiesce")
`), library.Open)
	require.NoError(t, err)
	require.Equal(t, lang.Print(want), s.String())
	is, err := s.Scenario()
	require.NoError(t, err)
	require.Equal(t, want, is)
}

// A mistake names this file and the line where what is wrong was made.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		make func(s *build.Scenario)
		says string
	}{
		{func(s *build.Scenario) { s.Text("f", "5g") }, `build_test.go:59: hex of "f"`},
		{func(s *build.Scenario) { s.Kprobe("k").At(s.Text("f", "55 5d c3").Plus(7)) }, "build_test.go:60: "},
		{func(s *build.Scenario) {
			f := s.Text("f", "55 5d c3")
			s.Insns(f)
			f.Size(3)
		}, "build_test.go:64: size of text is said too late"},
		{func(s *build.Scenario) { s.Machine().CPUs(99) }, "build_test.go:66: "},
		{func(s *build.Scenario) { s.Task("t").Ops(build.Register(build.New("b").Kprobe("k"))) }, "build_test.go:67: "},
		{func(s *build.Scenario) {
			s.Task("t").Ops(
				build.Schedule(),
				build.Call(s.Text("f", "c3"), 1.5))
		}, "build_test.go:71: 1.5 is a float64"},
		{func(s *build.Scenario) { s.ELF("nowhere.o").Func("f") }, `build_test.go:73: file "nowhere.o" can't be read`},
		{func(s *build.Scenario) { s.Task("t").Ops(build.Call(s.ELF("victim.o").Func("vicim"))) },
			`victim.o has no function "vicim"; did you mean "victim"?`},
		{func(s *build.Scenario) { s.Kprobe("k").At(s.Text("f", "55 5d c3")) }, "build_test.go:78: no tasks"},
	} {
		s := build.New("it")
		c.make(s)
		_, err := s.Scenario()
		require.ErrorContains(t, err, c.says)
		require.NotContains(t, err.Error(), "\n")
	}
}

// What is made after the search is refused.
func TestLate(t *testing.T) {
	s := build.New("it")
	s.Task("t").Ops(build.Schedule())
	_, err := s.Scenario()
	require.NoError(t, err)
	s.Text("f", "c3")
	_, err = s.Scenario()
	require.ErrorContains(t, err, "text is made after the scenario was searched")

	made, err := lang.Load("it.star", []byte("task(ops = [schedule()])\n"), nil)
	require.NoError(t, err)
	for says, add := range map[string]func(s *build.Scenario){
		"text is made":             func(s *build.Scenario) { s.Text("f", "c3") },
		"says is said":             func(s *build.Scenario) { s.Says("it") },
		"made in another scenario": func(s *build.Scenario) { s.Insns(build.New("b").Text("f", "c3")) },
	} {
		s := build.Of(made)
		add(s)
		_, err := s.Scenario()
		require.ErrorContains(t, err, says)
	}
}

// What takes one or more takes either, and what takes functions of several kinds takes each.
func TestSeveral(t *testing.T) {
	s := build.New("it")
	s.Machine().CPUs(2).Jprobes(true)
	f, g := s.Text("f", "0f1f440000 c3"), s.Text("g", "0f1f440000 c3")
	h, i := s.Text("h", "c3"), s.Text("i", "c3")
	s.Fentry(f)
	s.Fentry(g)
	s.Stub("last").Calls(build.Export("do_exit"))
	j := s.Jprobe("j").At(h).Entry(build.Steps{build.Count()})
	l := s.JumpLabel("l", build.Sites{s.Text("one", "0f1f440000 c3"), s.Text("two", "0f1f440000 c3")}, i)
	s.Task("t").Ops(build.PatchFunc(build.All{f, g}, build.All{h, i}), build.Register(j), build.LabelOn(l))
	made, err := s.Scenario()
	require.NoError(t, err)
	again, err := lang.Load("it.star", []byte(s.String()), nil)
	require.NoError(t, err)
	require.Equal(t, made.Tasks, again.Tasks)
	require.Equal(t, s.String(), build.Of(made).String())
}
