package overlay_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux/overlay"
	"kpsim/linux/vmlinux"
)

// objects returns the engine's objects that scripts/kernel-objects made beside a kernel.
func objects(t *testing.T, im *vmlinux.Image, names ...string) []string {
	t.Helper()
	var files []string
	for _, name := range names {
		file := filepath.Join(filepath.Dir(im.Path), "objects", name)
		if _, err := os.Stat(file); err != nil {
			t.Skipf("no objects of %s at hand: run scripts/kernel-objects %s", im.Release, im.Release)
		}
		files = append(files, file)
	}
	return files
}

var engine = []string{
	"kernel/kprobes.o", "kernel/trace/rethook.o",
	"arch/x86/kernel/kprobes/core.o", "arch/x86/kernel/kprobes/opt.o", "arch/x86/kernel/kprobes/ftrace.o",
	"arch/x86/kernel/rethook.o", "arch/x86/kernel/alternative.o",
}

// The unedited objects fit the kernel that they were compiled for, all of them and each
// alone.
func TestUnedited(t *testing.T) {
	im := kerneltest.Open(t, "6.1")
	files := objects(t, im, engine...)
	v, err := overlay.Link(im, base, files...)
	require.NoError(t, err)
	moved := movesByName(t, im, v)
	for _, name := range []string{"register_kprobe", "kprobe_int3_handler", "text_poke_bp", "rethook_try_get",
		"kprobe_optimizer", "arch_prepare_optimized_kprobe", "arch_populate_kprobe_blacklist"} {
		require.Contains(t, moved, name)
	}
	require.NotContains(t, moved, "optimized_callback.cold")
	require.Equal(t, []string{"init_kprobes", "init_optprobes", "debugfs_kprobe_init"}, v.Initcalls)
	require.Greater(t, len(v.Returns), 100)
	require.Greater(t, len(v.Fentries), 100)
	require.Greater(t, len(v.Retpolines), 10)
	for _, w := range v.Writes { // what stays the vmlinux's has no address of the overlay
		for _, s := range v.Symbols {
			require.NotEqual(t, w.Name, s.Name)
		}
	}

	// What is per-CPU and shared stays where it is; what is static is new.
	_, own := find(v.Symbols, "current_kprobe")
	require.False(t, own)
	instance, own := find(v.Symbols, "kprobe_instance")
	require.True(t, own)
	area := im.Section(".data..percpu")
	require.GreaterOrEqual(t, instance.Addr, area.Addr+area.Size)

	for _, file := range files {
		alone, err := overlay.Link(im, base, file)
		require.NoError(t, err)
		byName := movesByName(t, im, alone)
		if strings.HasSuffix(file, "kernel/kprobes.o") {
			// weak in kprobes.c; core.c, which isn't given, has the one that is used
			require.NotContains(t, byName, "arch_populate_kprobe_blacklist")
			require.NotContains(t, byName, "alloc_insn_page")
			require.Contains(t, byName, "alloc_optinsn_page") // nothing else has it
		}
	}
}

func movesByName(t *testing.T, im *vmlinux.Image, v *overlay.Overlay) map[string]overlay.Move {
	t.Helper()
	moved := make(map[string]overlay.Move)
	for _, m := range v.Moved {
		require.NotContains(t, moved, m.Name)
		moved[m.Name] = m
		old, ok := im.Lookup(m.From)
		require.True(t, ok)
		require.Equal(t, m.From, old.Addr)
		require.True(t, old.Func)
		s, ok := find(v.Symbols, m.Name)
		require.True(t, ok, m.Name)
		require.Equal(t, s.Addr, m.To)
	}
	return moved
}

func find(symbols []vmlinux.Symbol, name string) (vmlinux.Symbol, bool) {
	for _, s := range symbols {
		if s.Name == name {
			return s, true
		}
	}
	return vmlinux.Symbol{}, false
}

// A WARN of the objects is known by the file and line of the source.
func TestBugs(t *testing.T) {
	im := kerneltest.Open(t, "6.1")
	v, err := overlay.Link(im, base, objects(t, im, "kernel/kprobes.o")...)
	require.NoError(t, err)
	text := v.Sections[0]
	bugs := 0
	for off := range text.Data {
		b, ok := v.Bug(text.Addr + uint64(off))
		if !ok {
			continue
		}
		bugs++
		require.Equal(t, []byte{0x0f, 0x0b}, text.Data[off:off+2]) // ud2
		require.Positive(t, b.Line)
		require.Regexp(t, `\.[ch]$`, b.File)
	}
	require.Greater(t, bugs, 5)
}

// Objects for another kernel are refused, by a struct that differs.
func TestOtherKernel(t *testing.T) {
	im := kerneltest.Open(t, "6.1")
	_, err := overlay.Link(kerneltest.Open(t, "6.12"), base, objects(t, im, "kernel/kprobes.o")...)
	require.ErrorContains(t, err, "compile against the headers of that kernel")
}

// A shared variable that grew is the overlay's own if all code that uses it is given.
func TestGrown(t *testing.T) {
	im := kerneltest.Open(t, "6.1")
	o := compile(t, "grown", `
struct { char *name; void *addr; } kretprobe_blacklist[12] = {{"__switch_to"}};
void *user(void) { return kretprobe_blacklist[3].addr; }`)
	_, err := overlay.Link(im, base, o)
	require.ErrorContains(t, err, "kretprobe_blacklist has 192 bytes, and ")
	require.Regexp(t, "register_kretprobe.* use it: give the objects of the files that define these too", err.Error())
	_, err = overlay.Link(im, base, append(objects(t, im, "kernel/kprobes.o"), o)...)
	require.NoError(t, err)
}

// A laid overlay and its kernel are one image: names are the new ones, old entries jump
// there, and the source is known by line.
func TestLay(t *testing.T) {
	im, err := vmlinux.Open(kerneltest.Path(t, "6.1"))
	require.NoError(t, err)
	require.NoError(t, im.Move(0x10000000))
	was, ok := im.Symbol("register_kprobe")
	require.True(t, ok)
	table, ok := im.Symbol("current_kprobe")
	require.True(t, ok)
	v, err := overlay.Link(im, base, objects(t, im, "kernel/kprobes.o")...)
	require.NoError(t, err)
	require.NoError(t, v.Lay(im))
	require.ErrorContains(t, v.Lay(im), "give all objects at once")

	is, ok := im.Symbol("register_kprobe")
	require.True(t, ok)
	require.GreaterOrEqual(t, is.Addr, uint64(base))
	require.True(t, calledIn(im.Bytes(was.Addr, 5), was.Addr, is.Addr))
	for _, at := range []uint64{is.Addr, is.Addr + 20} {
		s, ok := im.Lookup(at)
		require.True(t, ok)
		require.Equal(t, [2]any{is.Name, is.Addr}, [2]any{s.Name, s.Addr}) // the size is up to what follows
	}
	frames := im.Line(is.Addr + 20)
	require.NotEmpty(t, frames)
	require.Equal(t, "register_kprobe", frames[len(frames)-1].Func)
	require.Equal(t, "kernel/kprobes.c", frames[len(frames)-1].File)
	require.Positive(t, frames[len(frames)-1].Line)

	require.NotContains(t, im.Fentries(), was.Addr)
	require.Contains(t, im.Fentries(), is.Addr)
	for _, at := range append(im.Returns(), im.Retpolines()...) {
		require.NotNil(t, im.Bytes(at, 5))
	}
	same, ok := im.Symbol("current_kprobe")
	require.True(t, ok)
	require.Equal(t, table, same)
	instance, ok := im.Symbol("kprobe_instance")
	require.True(t, ok)
	require.NotNil(t, im.Bytes(instance.Addr, instance.Size))
	require.Equal(t, v.Digest, im.Layer().Digest)
}
