package closure

import (
	"cmp"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
)

func of(t *testing.T, series string, sets ...string) *Closure {
	t.Helper()
	c, err := Of(kerneltest.Open(t, series), sets...)
	require.NoError(t, err)
	return c
}

func (c *Closure) callee(name string) *Callee {
	for i := range c.Boundary {
		if c.Boundary[i].Name == name {
			return &c.Boundary[i]
		}
	}
	return nil
}

// The probes of the kernels at hand: their functions, what they call, and what isn't a call.
func TestProbes(t *testing.T) {
	for _, series := range []string{"6.1", "6.12"} {
		t.Run(series, func(t *testing.T) {
			c := of(t, series, "kprobes")
			assert.InDelta(t, 165, len(c.Inside), 10)
			assert.InDelta(t, 65, len(c.Boundary), 10)
			assert.Empty(t, c.Missing())
			for _, name := range []string{"register_kprobe", "kprobe_optimizer", "text_poke_bp_batch", "insn_decode",
				"poke_int3_handler", "rethook_trampoline_handler", "do_sync_core", "kprobe_seq_show"} {
				in := slices.ContainsFunc(c.Inside, func(f Function) bool { return f.Name == name })
				assert.Equal(t, name != "kprobe_seq_show", in, name)
			}
			caller := c.callee("synchronize_rcu_tasks")
			require.NotNil(t, caller)
			require.Len(t, caller.Callers, 1)
			assert.Equal(t, "kprobe_optimizer", caller.Callers[0].Func)
			for _, b := range c.Boundary {
				assert.NotRegexp(t, `^__SCT__|^__x86_|^__fentry__|^__pfx_`, b.Name)
				require.NotEmpty(t, b.Callers, b.Name)
			}
			for _, s := range c.Special {
				assert.NotEqual(t, "undecodable", s.Text)
				assert.NotEqual(t, "jump to no function", s.Text)
				f := c.Function(s.Addr)
				require.NotNil(t, f)
				assert.Equal(t, s.Func, f.Name)
			}
			for i := range c.Inside {
				n := 0
				c.Decode(&c.Inside[i], func(in arch.Inst) {
					n++
					if _, kind := c.Target(&c.Inside[i], in); kind == Outer {
						s, _ := c.Target(&c.Inside[i], in)
						assert.NotNil(t, c.callee(s.Name), s.Name)
					}
				})
				assert.GreaterOrEqual(t, n, c.Inside[i].Insns)
			}
		})
	}
}

// The file of each function inside is the one that DWARF says.
func TestFiles(t *testing.T) {
	for _, series := range series {
		t.Run(series, func(t *testing.T) {
			im, err := vmlinux.Open(kerneltest.Debug(t, series))
			require.NoError(t, err)
			c, err := Of(im)
			require.NoError(t, err)
			for i := range c.Inside {
				f := &c.Inside[i]
				if f.File == "" {
					continue
				}
				frames := im.Line(f.Addr)
				if len(frames) == 0 {
					continue
				}
				where := frames[len(frames)-1].File
				assert.True(t, strings.HasSuffix(where, f.File) || strings.Contains(where, "/include/") ||
					strings.HasPrefix(where, "include/"), "%s: %s, and DWARF says %s", f.Name, f.File, where)
			}
		})
	}
}

// known.txt and known-others.txt are what the kernels at hand have.
func TestKnown(t *testing.T) {
	t.Run("x86", func(t *testing.T) {
		testKnown(t, kerneltest.All(t), knownText, "known.txt", "Debian's and Ubuntu's kernels")
	})
	t.Run("others", func(t *testing.T) {
		var paths []string
		for _, processor := range []string{"riscv64", "arm64", "ppc64le"} {
			paths = append(paths, kerneltest.AllOn(processor, "6.12")...)
		}
		if len(paths) == 0 {
			t.Skip("no kernel of another processor at hand: run scripts/fetch-kernel -a riscv64")
		}
		testKnown(t, paths, knownOthers, "known-others.txt", "Debian's kernels for other processors")
	})
}

func testKnown(t *testing.T, paths []string, text, file, of string) {
	known, rows := parseKnown(text)
	var kernels []string
	have := map[string][]string{} // row, kernels
	slices.SortStableFunc(paths, func(a, b string) int {
		return compareSeries(filepath.Base(filepath.Dir(a)), filepath.Base(filepath.Dir(b)))
	})
	for i, path := range paths {
		series := func(path string) string { return Key(filepath.Base(filepath.Dir(path))) }
		newest := !slices.ContainsFunc(paths[i+1:], func(q string) bool { return series(q) == series(path) })
		if !*update && !newest && !thorough.Set() { // others of a series differ little
			continue
		}
		im, err := vmlinux.Open(path)
		require.NoError(t, err)
		key := im.Release
		kernels = append(kernels, key)
		if !*update && !slices.Contains(known, key) {
			t.Logf("%s isn't known; kpsim kernel closure says how it differs", key)
			continue
		}
		for _, set := range Top() {
			c, err := Of(im, set)
			require.NoError(t, err)
			if d := c.Compare(set, key); !*update {
				assert.True(t, d.None(), "%s: %+v; go test ./linux/closure -run TestKnown -update", im.Release, d)
			}
			note := func(part, name string) {
				row := set + " " + part + " " + name
				have[row] = append(have[row], key)
			}
			for _, name := range c.insideNames() {
				note("inside", name)
			}
			for _, name := range c.boundaryNames() {
				note("boundary", name)
			}
		}
	}
	if !*update {
		return
	}
	if away := without(known, kernels); len(away) > 0 { // they keep the rows that they had
		for _, r := range rows {
			row := r.set + " " + r.part + " " + r.name
			for _, key := range r.kernels {
				if slices.Contains(away, key) {
					have[row] = append(have[row], key)
				}
			}
		}
		kernels = append(kernels, away...)
		order := func(a, b string) int { return cmp.Or(compareSeries(a, b), cmp.Compare(padded(a), padded(b))) }
		slices.SortFunc(kernels, order)
		for row := range have {
			slices.SortFunc(have[row], order)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# The closures of the sets in %s: inside, and the boundary.\n"+
		"# Made by go test ./linux/closure -run TestKnown -update.\n\nkernels %s\n\n", of, strings.Join(kernels, " "))
	for _, row := range slices.Sorted(maps.Keys(have)) {
		in, rest := have[row], without(kernels, have[row])
		switch {
		case len(rest) == 0:
			in = []string{"all"}
		case len(rest) < len(in):
			in = append([]string{"but"}, rest...)
		}
		fmt.Fprintln(&b, row, strings.Join(in, " "))
	}
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
}

// padded pads the numbers of a release with zeros, so that text is compared as numbers are.
func padded(release string) string {
	return regexp.MustCompile(`\d+`).ReplaceAllStringFunc(release, func(n string) string {
		return strings.Repeat("0", max(0, 4-len(n))) + n
	})
}

func TestNamed(t *testing.T) {
	sets, err := Named("ftrace")
	require.NoError(t, err)
	require.Len(t, sets, 6)
	_, err = Named("kprobe")
	require.ErrorContains(t, err, "there is no set kprobe; there are kprobes, ")
}

func TestReleases(t *testing.T) {
	const last = "7.3.4+deb13-amd64"
	for release, want := range map[string][2]string{
		"6.1.0-50-amd64": {"6.1", "6.1.0-50-amd64"}, "6.1.0-40-amd64": {"6.1", "6.1.0-57-amd64"},
		"6.1.0-55-rt-amd64":          {"6.1-rt", "6.1.0-57-rt-amd64"},
		"6.12.119+deb12-cloud-amd64": {"6.12-cloud", "6.12.117+deb13-cloud-amd64"},
		"6.12-rc3":                   {"6.12", "6.12.117+deb12-amd64"}, "6.13.2": {"6.13", "6.12.117+deb12-amd64"},
		"6.6.8":            {"6.6", "6.5.0-45-generic"},
		"6.8.0-31-generic": {"6.8", "6.8.0-151-generic"}, "7.10.1": {"7.10", last}, "8": {"8", last},
		"5.4.1": {"5.4", "5.10.0-30-amd64"}, "": {"", "5.10.0-30-amd64"},
	} {
		assert.Equal(t, want, [2]string{Key(release), Nearest(release)}, release)
	}
	assert.Equal(t, "optimize_kprobe", Base("optimize_kprobe.part.0.isra.0.cold"))
}

// A kernel made up has no probes, and does no harm.
func TestFake(t *testing.T) {
	path := t.TempDir() + "/vmlinux"
	require.NoError(t, os.WriteFile(path, kerneltest.Fake{Names: []string{"register_kprobe", "memcpy"},
		Release: "6.1.9"}.ELF(), 0o644))
	im, err := vmlinux.Open(path)
	require.NoError(t, err)
	c, err := Of(im, "kprobes")
	require.NoError(t, err)
	require.Len(t, c.Inside, 1)
	assert.Equal(t, "kernel/kprobes.c", c.Inside[0].File)
	assert.NotEmpty(t, c.Missing())
}

// A function that no table of names has is inside if DWARF says that a file of the set has it.
func TestUnknownName(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc here: install it")
	}
	for _, c := range []struct{ file, set string }{{"kernel/kprobes.c", "kprobes"}, {"kernel/other_kprobes.c", ""},
		{"kernel/trace/ftrace.c", ""}} {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(c.file)), 0o755))
		source := []byte("int brand_new(void) { return 1; }\n")
		require.NoError(t, os.WriteFile(filepath.Join(dir, c.file), source, 0o644))
		cmd := exec.Command("gcc", "-g", "-O2", "-ffreestanding", "-nostdlib", "-static", "-fno-pie", "-no-pie",
			"-mcmodel=kernel",
			fmt.Sprintf("-Wl,-Ttext=%#x,-e,brand_new", uint64(kerneltest.FakeText)), "-o", "linked", c.file)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		f, err := elf.Open(filepath.Join(dir, "linked"))
		require.NoError(t, err)
		defer f.Close()
		dwarf := map[string][]byte{}
		for _, s := range f.Sections {
			if strings.HasPrefix(s.Name, ".debug_") {
				dwarf[s.Name], err = s.Data()
				require.NoError(t, err)
			}
		}
		path := filepath.Join(dir, "vmlinux")
		require.NoError(t, os.WriteFile(path, kerneltest.Fake{Names: []string{"brand_new"}, Release: "6.1.9",
			DWARF: dwarf}.ELF(), 0o644))
		im, err := vmlinux.Open(path)
		require.NoError(t, err)
		cut, err := Of(im)
		require.NoError(t, err)
		s, ok := im.Symbol("brand_new")
		require.True(t, ok)
		_, m := cut.at(s)
		require.Equal(t, c.set != "", m != nil, c.file)
		if m != nil {
			require.Equal(t, member{c.set, c.file}, *m)
		}
	}
}
