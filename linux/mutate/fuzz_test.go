package mutate

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux/closure"
	"kpsim/linux/vmlinux"
)

// FuzzAll: whatever the text of a kernel is, the walk ends, and mutants are of one length.
func FuzzAll(f *testing.F) {
	f.Add([]byte{0xe8, 0x0b, 0, 0, 0, 0x74, 0x02, 0x0f, 0x0b, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xf0, 0x48,
		0x0f, 0xb1, 0x13, 0x83, 0xf8, 0x07, 0x0f, 0x84, 0xe6, 0xff, 0xff, 0xff, 0xeb, 0xf0})
	f.Add([]byte{0x66, 0x0f})
	f.Add([]byte{0xff, 0x14, 0x25, 0, 0, 0, 0, 0x3c, 0x7f, 0x80, 0x3b, 0xff, 0x81, 0x3b, 0, 0, 0, 0x80})
	fake := kerneltest.Fake{Names: []string{"register_kprobe", "kprobe_optimizer", "memcpy", "mutex_lock", "pv_ops",
		"__SCT__might_resched", "unregister_kprobe"}}.ELF()
	text := bytes.Index(fake, []byte{0xc3, 0x90, 0x90, 0x90, 0x0f, 0x0b})
	path := filepath.Join(f.TempDir(), "vmlinux")
	f.Fuzz(func(t *testing.T, code []byte) {
		b := bytes.Clone(fake)
		copy(b[text:text+16*600], code)
		require.NoError(t, os.WriteFile(path, b, 0o644))
		im, err := vmlinux.Open(path)
		require.NoError(t, err)
		c, err := closure.Of(im)
		require.NoError(t, err)
		for _, m := range All(c) {
			require.Len(t, m.New, len(m.Old), m.Name)
			require.Equal(t, m.Old, im.Bytes(m.Addr, uint64(len(m.Old))), m.Name)
		}
	})
}
