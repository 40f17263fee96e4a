package vmlinux_test

import (
	"testing"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux/vmlinux"
)

// Damaged kernels are refused, or read as far as they make sense: no panic, no end-
// less search, and nothing outside of a section.
func FuzzRead(f *testing.F) {
	for _, fake := range []kerneltest.Fake{{}, {Tables: "6.4"}, {Tables: "7.0"}, {Linked: true}} {
		kernel := fake.ELF()
		f.Add(kernel)
		f.Add(kerneltest.Vmlinuz(kernel, "gzip"))
		f.Add(kerneltest.Vmlinuz(kernel, "zstd"))
		f.Add(kerneltest.Vmlinuz(kernel, "lz4"))
	}
	for _, processor := range []string{"riscv64", "arm64"} {
		f.Add(kerneltest.Fake{Flat: processor, Tables: "6.4"}.FlatImage())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		im, err := vmlinux.Read(b)
		if err != nil {
			return
		}
		ask(im)
		if im.Move(kerneltest.FakeDelta) == nil {
			ask(im)
		}
	})
}

// ask asks an image all that it can be asked.
func ask(im *vmlinux.Image) {
	for _, s := range im.Symbols() {
		im.Lookup(s.Addr + s.Size)
		im.Bytes(s.Addr, s.Size)
		im.Line(s.Addr)
	}
	for _, at := range im.Returns() {
		im.Bug(at)
	}
	im.Retpolines()
	im.Fentries()
	im.Extable()
	for _, name := range []string{"kprobe", "list_head", "kprobe_opcode_t"} {
		im.Types().Size(name)
		im.Types().Off(name, "lists.next")
		im.Types().Bits(name, "gone")
		for off := range 48 {
			im.Types().Member(name, off)
		}
	}
}
