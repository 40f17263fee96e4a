package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/engine/ftrace"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// namesAt are the symbols that some addresses lie in.
func namesAt(s *kernel.Symbols, at ...arch.Addr) (names []string) {
	for _, a := range at {
		f, _ := s.Lookup(a)
		names = append(names, f.Name)
	}
	return names
}

// What is added in any order is found by address and by name; a name that
// several have is the first one's, or the module's that is said.
func TestSymbolsOrder(t *testing.T) {
	s := &newRig(t, modes[0], smp.Config{CPUs: 1}).k.Symbols
	s.Add(kapi.Function{Name: "g", Addr: 0x3000, Size: 16, Module: "m"}, []int{8})
	s.Add(kapi.Function{Name: "f", Addr: 0x1000, Size: 16}, nil)
	s.Add(kapi.Function{Name: "g", Addr: 0x2000, Size: 16}, []int{0, 15})
	require.Equal(t, []string{"", "f", "f", "", "g", "g", ""}, namesAt(s, 0xfff, 0x1000, 0x100f, 0x1010, 0x2000, 0x300f, 0x3010))
	for name, want := range map[string]arch.Addr{"f": 0x1000, "g": 0x2000, "m:g": 0x3000, "m:f": 0, "h": 0, ":g": 0x2000, "": 0} {
		f, ok := s.Named(name)
		require.Equal(t, want, f.Addr, name)
		require.Equal(t, want != 0, ok, name)
	}
	for _, test := range []struct {
		at   arch.Addr
		size int
		want bool
	}{{0x1000, 0x1000, false}, {0x1000, 0x1001, true}, {0x2001, 14, false}, {0x2001, 15, true}, {0x2010, 0xff8, false}, {0x3008, 1, true}, {0x3009, 100, false}} {
		require.Equal(t, test.want, s.Extable(test.at, test.size), "%#x+%d", test.at, test.size)
	}
	s.Add(kapi.Function{Name: "e", Addr: 0x800, Size: 4}, nil) // after it was looked up
	require.Equal(t, []string{"e", "f"}, namesAt(s, 0x803, 0x1003))
}

// Sites of several sizes are found by any byte that they share.
func TestSymbolsSites(t *testing.T) {
	s := &newRig(t, modes[0], smp.Config{CPUs: 1}).k.Symbols
	long := kapi.Site{Addr: 0x1000, Size: 20, Kind: ftrace.Site}
	short := kapi.Site{Addr: 0x1018, Size: 2, Kind: kapi.SiteBug}
	s.AddSite(short)
	s.AddSite(long)
	for at := arch.Addr(0xff0); at < 0x1030; at++ {
		for _, size := range []int{1, 2, 5, 30} {
			var want []kapi.Site
			for _, site := range []kapi.Site{long, short} {
				if at < site.Addr+arch.Addr(site.Size) && site.Addr < at+arch.Addr(size) {
					want = append(want, site)
				}
			}
			require.Equal(t, want, s.Sites(nil, at, size), "%#x+%d", at, size)
			require.Equal(t, want != nil, s.Reserved(at, size), "%#x+%d", at, size)
		}
	}
}

// A range says what its memory is; with it the symbols there come and go, the
// kernel's own excepted, and so do their lines of the blacklist. The next run
// begins as the machine was booted.
func TestSymbolsKinds(t *testing.T) {
	r := newRig(t, modes[0], smp.Config{CPUs: 1})
	s := &r.k.Symbols
	core := kapi.Function{Name: "core", Addr: 0x2000, Size: 16, Module: "m"}
	s.Add(core, nil)
	s.Add(kapi.Function{Name: "init", Addr: 0x3000, Size: 16, Module: "m"}, nil)
	s.Add(kapi.Function{Name: "start_kernel", Addr: 0x1000, Size: 16}, nil)
	s.Add(kapi.Function{Name: "f", Addr: 0x800, Size: 16}, nil)
	s.Ban(core, kapi.BanSymbol)
	initText := s.AddRange(kernel.Range{Addr: 0x3000, Size: 0x100, Kind: kapi.TextInit})
	module := s.AddRange(kernel.Range{Addr: 0x2000, Size: 0x100, Kind: kapi.TextCore})
	kernelInit := s.AddRange(kernel.Range{Addr: 0x1000, Size: 0x100, Kind: kapi.TextInit})
	s.AddRange(kernel.Range{Addr: 0x4000, Size: 8, Kind: kapi.TextData})

	kinds := func() (all []kapi.TextKind) {
		for _, at := range []arch.Addr{0x800, 0x810, 0x1000, 0x20ff, 0x2100, 0x3000, 0x4007, 0x4008} {
			all = append(all, s.Kind(at))
		}
		return all
	}
	booted := []kapi.TextKind{
		kapi.TextCore, kapi.TextNone, kapi.TextInit, kapi.TextCore, kapi.TextNone, kapi.TextInit, kapi.TextData, kapi.TextNone,
	}
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		require.Equal(t, booted, kinds())
		require.Equal(t, kapi.BanSymbol, s.Banned(0x200f))
		require.Equal(t, kapi.BanNone, s.Banned(0x2010))
		require.Equal(t, []kapi.Banned{{Function: core, Ban: kapi.BanSymbol}}, s.Blacklist(nil))

		s.SetKind(x, initText, kapi.TextFreed)
		s.SetKind(x, kernelInit, kapi.TextFreed)
		require.Equal(t, []string{"f", "start_kernel", "core", ""}, namesAt(s, 0x800, 0x1000, 0x2000, 0x3000))
		_, ok := s.Named("init")
		require.False(t, ok)

		s.SetKind(x, module, kapi.TextNone)
		require.Equal(t, []string{"start_kernel", ""}, namesAt(s, 0x1000, 0x2000))
		require.Empty(t, s.Blacklist(nil))
		_, ok = s.Named("m:core")
		require.False(t, ok)
	})
	for range 2 {
		r.want(smp.Passed, "default", sim.Always0{})
	}
}
